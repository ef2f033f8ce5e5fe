/* Options: every kind of value, every source and its precedence, every error message. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/file.h"
#include "options.h"

typedef struct settings {
    bool json, counters;
    const char *device, *store, *mode;
    kf_option_list model;
    int64_t jobs;
    double ratio, budget;
} settings;

static const kf_option options[] = {
    {KF_OPTION(FLAG, "json", NULL, settings, json), .letter = 'j', .help = "x"},
    {KF_OPTION(FLAG, "counters", NULL, settings, counters), .letter = 'c', .config = true,
     .help = "x"},
    {KF_OPTION(TEXT, "device", "DEVICE", settings, device), .letter = 'd', .config = true,
     .help = "x"},
    {KF_OPTION(PATH, "store", "FILE", settings, store), .config = true, .help = "x"},
    {KF_OPTION(LIST, "model", "SPEC", settings, model), .letter = 'm', .fallback = "none",
     .config = true, .help = "x"},
    {KF_OPTION(INTEGER, "jobs", "N", settings, jobs), .fallback = "4", .low = 1, .high = 64,
     .config = true, .help = "x"},
    {KF_OPTION(NUMBER, "ratio", "X", settings, ratio), .config = true, .help = "x"},
    {KF_OPTION(DURATION, "build-budget", "TIME", settings, budget), .letter = 'b', .fallback = "5m",
     .low = 0.1, .high = 86400, .config = true, .budget = true, .help = "x"},
    {KF_OPTION(CHOICE, "mode", "MODE", settings, mode), .fallback = "auto",
     .choices = "auto|fast|slow", .config = true, .help = "x"},
    {0},
};
static const kf_command eval = {.name = "eval",
                                .synopsis = "TASK FILE",
                                .summary = "s",
                                .least_arguments = 0,
                                .most_arguments = 2,
                                .options = options,
                                .settings_size = sizeof(settings)};
static const kf_command task_new = {.name = "task new",
                                    .summary = "s",
                                    .most_arguments = 1,
                                    .least_arguments = 1,
                                    .synopsis = "NAME"};
static const kf_command task_lint = {.name = "task lint", .summary = "s", .most_arguments = 1};
static const kf_command secret = {.name = "secret", .summary = "s", .hidden = true};
static const kf_command *const commands[] = {&eval, &task_new, &task_lint, &secret, NULL};

/* ---- helpers --------------------------------------------------------------------------------- */

#define MOST 16
static kf_parsed parsed;
static kf_error failure;

/* Parses words separated by one blank. "": no words. */
static bool parse_with(const kf_config *config, const char *const *environment, const char *line)
{
    static char words[512];
    static const char *arguments[MOST];
    size_t count = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) arguments[count++] = word;
    kf_parsed_clear(&parsed);
    failure = (kf_error){0};
    kf_surroundings surroundings = {.directory = "/", .environment = environment};
    return kf_options_parse(&eval, config, &surroundings, arguments, count, &parsed, &failure);
}

static const settings *parse(const char *line)
{
    if (!parse_with(NULL, NULL, line)) fail_msg("\"%s\": %s", line, failure.text);
    return parsed.settings;
}

static void refuse(const char *line, const char *text)
{
    if (parse_with(NULL, NULL, line)) fail_msg("\"%s\" was accepted", line);
    assert_int_equal(failure.code, KF_ERROR_INPUT);
    assert_string_equal(failure.text, text);
}

static int clear(void **state)
{
    (void)state;
    kf_parsed_clear(&parsed);
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_defaults(void **state)
{
    (void)state;
    const settings *s = parse("");
    assert_false(s->json);
    assert_null(s->device);
    assert_int_equal(s->model.count, 1);
    assert_string_equal(s->model.items[0], "none");
    assert_int_equal(s->jobs, 4);
    assert_true(s->budget == 300);
    assert_string_equal(s->mode, "auto");
}

static void test_forms(void **state)
{
    (void)state;
    const settings *s = parse("a --device=cpu -b 90 --jobs 3 -jc b");
    assert_string_equal(s->device, "cpu");
    assert_true(s->budget == 90);
    assert_int_equal(s->jobs, 3);
    assert_true(s->json && s->counters);
    assert_int_equal(parsed.argument_count, 2);
    assert_string_equal(parsed.arguments[0], "a");
    assert_string_equal(parsed.arguments[1], "b");
    s = parse("-dcuda:1 --no-counters --mode slow -- --json -");
    assert_string_equal(s->device, "cuda:1");
    assert_false(s->json);
    assert_string_equal(s->mode, "slow");
    assert_string_equal(parsed.arguments[0], "--json");
    assert_string_equal(parsed.arguments[1], "-");
    s = parse("-c --no-counters --device= --jobs=1 --jobs=2");
    assert_false(s->counters);
    assert_string_equal(s->device, "");
    assert_int_equal(s->jobs, 2);
    s = parse("-m a --model=b -m c");
    assert_int_equal(s->model.count, 3);
    assert_string_equal(s->model.items[0], "a");
    assert_string_equal(s->model.items[2], "c");
    assert_true(parse("--ratio=-1.5e-3")->ratio == -1.5e-3);
}

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"90", 90},      {"90s", 90},    {"1.5m", 90},       {"2h", 7200},
                {"1h30m", 5400}, {"500ms", 0.5}, {"1h0.5s", 3600.5}, {"1d", 86400}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char line[64];
        snprintf(line, sizeof line, "-b %s", good[i].text);
        if (fabs(parse(line)->budget - good[i].seconds) > 1e-9)
            fail_msg("%s: %g", good[i].text, ((settings *)parsed.settings)->budget);
    }
    static const char *const bad[] = {"x",   "5x",  "m",    "30m1h", "1h1h", "1h30", "-5",
                                      "nan", "inf", "0x10", "1e999", "5sm",  "ms"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[64];
        snprintf(line, sizeof line, "--build-budget=%s", bad[i]);
        if (parse_with(NULL, NULL, line)) fail_msg("%s was accepted", line);
        assert_non_null(strstr(failure.text, "expected"));
    }
}

static void test_errors(void **state)
{
    (void)state;
    refuse("--divice=cpu", "eval: unknown option --divice; did you mean --device?");
    refuse("--zzzzzzzzz", "eval: unknown option --zzzzzzzzz; \"kforge eval --help\" lists them");
    refuse("-x", "eval: unknown option -x; \"kforge eval --help\" lists them");
    refuse("-jx", "eval: unknown option -x; \"kforge eval --help\" lists them");
    refuse("-device", "eval: unknown option -device; did you mean --device?");
    refuse("--llm=x", "eval: the option --llm was removed; use --model");
    refuse("--no-device", "eval: unknown option --no-device; did you mean --device?");
    refuse("--json=yes", "--json takes no value");
    refuse("--no-json=yes", "--no-json takes no value");
    refuse("--device", "--device: a value is missing: --device DEVICE");
    refuse("-d", "-d: a value is missing: -d DEVICE");
    refuse("--jobs=four", "--jobs: expected an integer, found \"four\"");
    refuse("--jobs=", "--jobs: expected an integer, found \"\"");
    refuse("--jobs=4.5", "--jobs: expected an integer, found \"4.5\"");
    refuse("--jobs=65", "--jobs: 65 is out of range; expected 1 to 64");
    refuse("--jobs=99999999999999999999", "--jobs: 99999999999999999999 is out of range");
    refuse("--ratio=nan", "--ratio: expected a number, found \"nan\"");
    refuse("--ratio=0x1p3", "--ratio: expected a number, found \"0x1p3\"");
    refuse("--ratio=1.5x", "--ratio: expected a number, found \"1.5x\"");
    refuse("-b 0.01", "-b: 0.01 is out of range; expected 0.1 to 86400");
    refuse("-b soon",
           "-b: expected a duration such as 90, 90s, 5m, 1h30m or 500ms, found \"soon\"");
    refuse("--mode=fats",
           "--mode: unknown value \"fats\"; did you mean fast? (auto, fast or slow)");
    refuse("--mode=zzzzzz", "--mode: unknown value \"zzzzzz\"; expected auto, fast or slow");
    refuse("--mode=", "--mode: unknown value \"\"; expected auto, fast or slow");
    refuse("--store=", "--store: the path is empty");
    refuse("a b c", "eval: unexpected argument \"c\"; usage: kforge eval TASK FILE");
    char line[512] = "";
    memset(line, 'a', 200);
    line[0] = line[1] = '-';
    assert_false(parse_with(NULL, NULL, line));
    assert_true(strlen(failure.text) < 130);
}

static void test_missing_arguments(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autoparsed none = {0};
    assert_false(kf_options_parse(&task_new, NULL, NULL, NULL, 0, &none, &error));
    assert_string_equal(error.text, "task new: arguments are missing; usage: kforge task new NAME");
}

static void test_too_many_items(void **state)
{
    (void)state;
    const char *arguments[KF_OPTION_LIST_MAX + 1];
    for (int i = 0; i <= KF_OPTION_LIST_MAX; i++) arguments[i] = "--model=a";
    kf_error error = {0};
    kf_autoparsed full = {0};
    assert_true(kf_options_parse(&eval, NULL, NULL, arguments, KF_OPTION_LIST_MAX, &full, &error));
    assert_int_equal(((settings *)full.settings)->model.count, KF_OPTION_LIST_MAX);
    kf_parsed_clear(&full);
    assert_false(
        kf_options_parse(&eval, NULL, NULL, arguments, KF_OPTION_LIST_MAX + 1, &full, &error));
    assert_string_equal(error.text, "--model: given more than 64 times");
}

static void test_help(void **state)
{
    (void)state;
    parse("--zzz --help");
    assert_true(parsed.help);
    parse("a b c d -h");
    assert_true(parsed.help);
    parse("-- --help");
    assert_false(parsed.help);
}

/* ---- sources --------------------------------------------------------------------------------- */

static kf_config *config_from(const char *text)
{
    kf_config *config = calloc(1, sizeof *config);
    config->count = 1;
    config->files[0] = (kf_config_file){
        .path = strdup("/p/kforge.json"), .folder = strdup("/p"), .json = cJSON_Parse(text)};
    assert_non_null(config->files[0].json);
    return config;
}

static void test_precedence(void **state)
{
    (void)state;
    kf_auto(kf_config) config =
        config_from("{\"device\":\"file\",\"jobs\":7,\"build-budget\":\"2m\",\"counters\":true,"
                    "\"store\":\"runs.db\","
                    "\"model\":[\"x\",\"y\"],\"ratio\":0.5,\"mode\":\"fast\",\"json\":true}");
    const char *const environment[] = {"KFORGE_JOBS=8", "KFORGE_BUILD_BUDGET=3m", "KFORGE_JSON=1",
                                       "KFORGE_MODE=", NULL};
    assert_true(parse_with(config, environment, "--build-budget=4m"));
    const settings *s = parsed.settings;
    assert_string_equal(s->device, "file");
    assert_int_equal(s->jobs, 8);
    assert_true(s->budget == 240);
    assert_true(s->counters);
    assert_string_equal(s->store, "/p/runs.db");
    assert_int_equal(s->model.count, 2);
    assert_true(s->ratio == 0.5);
    /* An empty variable counts as unset. */
    assert_string_equal(s->mode, "fast");
    assert_false(s->json); /* not configurable */
    assert_true(parse_with(config, environment, "--model=z --no-counters --store=here.db"));
    s = parsed.settings;
    assert_int_equal(s->model.count, 1);
    assert_false(s->counters);
    assert_string_equal(s->store, "here.db");
    const char *const one[] = {"KFORGE_MODEL=e", NULL};
    assert_true(parse_with(config, one, ""));
    s = parsed.settings;
    assert_int_equal(s->model.count, 1);
    assert_string_equal(s->model.items[0], "e");
    const char *const wrong[] = {"KFORGE_JOBS=many", NULL};
    assert_false(parse_with(config, wrong, ""));
    assert_string_equal(failure.text, "KFORGE_JOBS: expected an integer, found \"many\"");
}

static void test_empty_list(void **state)
{
    (void)state;
    kf_auto(kf_config) config = config_from("{\"model\":[]}");
    assert_true(parse_with(config, NULL, ""));
    assert_int_equal(((settings *)parsed.settings)->model.count, 0);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void test_commands(void **state)
{
    (void)state;
    static const struct {
        const char *words[2];
        size_t count;
        const kf_command *command;
        const char *text;
    } cases[] = {
        {{"eval", "x"}, 2, &eval, NULL},
        {{"task", "new"}, 2, &task_new, NULL},
        {{"secret"}, 1, &secret, NULL},
        {{"task"}, 1, NULL, "\"task\" takes one of: new, lint"},
        {{"task", "--json"}, 2, NULL, "\"task\" takes one of: new, lint"},
        {{"task", "lnt"}, 2, NULL, "unknown command \"task lnt\"; did you mean \"task lint\"?"},
        {{"task", "zzzzzz"},
         2,
         NULL,
         "unknown command \"task zzzzzz\"; expected task and one of: new, lint"},
        {{"lint"}, 1, NULL, "unknown command \"lint\"; did you mean \"task lint\"?"},
        {{"eavl"}, 1, NULL, "unknown command \"eavl\"; did you mean \"eval\"?"},
        {{"evel"}, 1, NULL, "unknown command \"evel\"; did you mean \"eval\"?"},
        {{"secrt"}, 1, NULL, "unknown command \"secrt\"; \"kforge help\" lists all"},
        {{"zzzzzzzzz"}, 1, NULL, "unknown command \"zzzzzzzzz\"; \"kforge help\" lists all"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kf_error error = {0};
        size_t used = 0;
        const kf_command *found =
            kf_command_find(commands, cases[i].words, cases[i].count, &used, &error);
        assert_ptr_equal(found, cases[i].command);
        if (found)
            assert_int_equal(used, strchr(found->name, ' ') ? 2 : 1);
        else
            assert_string_equal(error.text, cases[i].text);
    }
}

static void test_environment(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *text, *warning;
    } cases[] = {
        {"KFORGE_DEVICE=x", NULL, NULL},
        {"KFORGE_MODE=fast", NULL, NULL},
        {"KFORGE_MODE=", NULL, NULL},
        {"KFORGE_MODE=fats",
         "KFORGE_MODE: unknown value \"fats\"; did you mean fast? (auto, fast or slow)", NULL},
        {"KFORGE_BUILD_BUDGET=x",
         "KFORGE_BUILD_BUDGET: expected a duration such as 90, 90s, 5m, 1h30m or 500ms, found "
         "\"x\"",
         NULL},
        {"KFORGE_ROOT=/", NULL, NULL},
        {"KFORGEX=1", NULL, NULL},
        {"KFORGE_DEVCE=x", NULL,
         "environment: unknown variable KFORGE_DEVCE is ignored; did you mean KFORGE_DEVICE?\n"},
        {"KFORGE_LLM=x", "environment: the variable KFORGE_LLM was removed; use KFORGE_MODEL",
         NULL},
        {"KFORGE_BUDGET_USD=1",
         "environment: the variable KFORGE_BUDGET_USD was removed; use KFORGE_COST", NULL},
        {"KFORGE_BILD_BUDGET=3m",
         "environment: unknown variable KFORGE_BILD_BUDGET; did you mean KFORGE_BUILD_BUDGET? "
         "Without it there is no such limit; correct its name or unset it",
         NULL},
        {"KFORGE_MAX_BUILD_BUDGET=3m",
         "environment: unknown variable KFORGE_MAX_BUILD_BUDGET; did you mean "
         "KFORGE_BUILD_BUDGET? Without it there is no such limit; correct its name or unset it",
         NULL},
        {"KFORGE_FOO=1", NULL,
         "environment: unknown variable KFORGE_FOO is ignored; \"kforge help settings\" lists the "
         "known ones\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const environment[] = {"PATH=/bin", cases[i].variable, NULL};
        kf_surroundings surroundings = {.directory = "/", .environment = environment};
        kf_error error = {0};
        kf_autobuffer unknown = {0};
        bool good = kf_environment_check(commands, &surroundings, &unknown, &error);
        assert_int_equal(good, cases[i].text == NULL);
        assert_int_equal(unknown.size > 0, cases[i].warning != NULL);
        if (cases[i].warning) assert_string_equal(unknown.data, cases[i].warning);
        if (cases[i].text) assert_string_equal(error.text, cases[i].text);
    }
}

/* ---- kforge.json ----------------------------------------------------------------------------- */

/* Of all files below. */
static char *folder;

static int make_folder(void **state)
{
    (void)state;
    kf_error error;
    folder = kf_directory_temporary("kforge-options", &error);
    return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    kf_error error;
    bool removed = kf_directory_remove(folder, &error);
    free(folder);
    return removed ? 0 : -1;
}

static void put(const char *name, const char *text)
{
    kf_autofree char *path = kf_path_join(folder, name), *parent = strdup(path);
    kf_error error;
    *strrchr(parent, '/') = '\0';
    assert_true(kf_directory_make(parent, &error));
    assert_true(kf_file_write(path, text, strlen(text), &error));
}

/* Loads with the working directory FOLDER/`directory` and FOLDER/home as home. `given` is
 * KFORGE_CONFIG. */
static kf_config *load(const char *directory, const char *given, kf_error *error)
{
    kf_autofree char *path = kf_path_join(folder, directory);
    char home[4096], config[4096];
    snprintf(home, sizeof home, "HOME=%s/home", folder);
    snprintf(config, sizeof config, "KFORGE_CONFIG=%s", given ? given : "");
    const char *const environment[] = {home, config, NULL};
    kf_surroundings surroundings = {.directory = path, .environment = environment};
    return kf_config_load(commands, &surroundings, error);
}

static void expect_files(const char *directory, const char *given, const char *first,
                         const char *second)
{
    kf_error error = {0};
    kf_auto(kf_config) config = load(directory, given, &error);
    if (!config) fail_msg("%s", error.text);
    const char *names[] = {first, second};
    assert_int_equal(config->count, (first != NULL) + (second != NULL));
    for (size_t i = 0; i < config->count; i++)
        assert_string_equal(config->files[i].path + strlen(folder) + 1, names[i]);
}

static void test_places(void **state)
{
    (void)state;
    put("kforge.json", "{}");
    put("loose/in/x", "");
    put("home/work/kforge.json", "{}");
    put("home/work/deep/er/x", "");
    put("home/repo/.git/x", "");
    put("home/repo/sub/x", "");
    put("home/kforge.json", "{}");
    expect_files("", NULL, "kforge.json", NULL);
    /* FOLDER/kforge.json is outside of any repository and of home. */
    expect_files("loose/in", NULL, NULL, NULL);
    expect_files("home/work/deep/er", NULL, "home/work/kforge.json", NULL);
    expect_files("home/repo/sub", NULL, NULL, NULL); /* Stops at .git. */
    expect_files("home", NULL, "home/kforge.json", NULL);
    put("home/repo/kforge.json", "{}");
    expect_files("home/repo/sub", NULL, "home/repo/kforge.json", NULL);
    put("home/.config/kforge/kforge.json", "{}");
    expect_files("home/repo/sub", NULL, "home/.config/kforge/kforge.json", "home/repo/kforge.json");
    expect_files("loose/in", NULL, "home/.config/kforge/kforge.json", NULL);
    expect_files("home/.config/kforge", NULL, "home/.config/kforge/kforge.json", NULL);
    expect_files("home/repo/sub", "none", NULL, NULL);
    expect_files("home/repo/sub", "../kforge.json", "home/repo/sub/../kforge.json", NULL);
    kf_error error = {0};
    assert_null(load("home", "missing.json", &error));
    assert_non_null(strstr(error.text, "missing.json: No such file or directory"));
}

static void test_file_errors(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"{\"llm\":\"x\"}", "llm: the key was removed; use \"model\""},
        {"{\"devise\":\"cpu\"}", "devise: unknown key; did you mean \"device\"?"},
        {"{\"json\":true}",
         "json: not a setting; give it as the option --json on the command line"},
        {"{\"zzzzzzzzz\":1}",
         "zzzzzzzzz: unknown key; \"kforge help settings\" lists the known ones"},
        {"{\"device\":1}", "device: expected a string"},
        {"{\"device\":null}", "device: expected a string"},
        {"{\"device\":[\"cpu\"]}", "device: expected a string"},
        {"{\"jobs\":\"4\"}", "jobs: expected an integer"},
        {"{\"jobs\":4.5}", "jobs: expected an integer, found \"4.5\""},
        {"{\"jobs\":1e300}", "jobs: expected an integer, found \"1e+300\""},
        {"{\"jobs\":65}", "jobs: 65 is out of range; expected 1 to 64"},
        {"{\"ratio\":\"1\"}", "ratio: expected a number"},
        {"{\"counters\":1}", "counters: expected true or false"},
        {"{\"build-budget\":true}", "build-budget: expected seconds or a string such as \"5m\""},
        {"{\"build-budget\":\"soon\"}",
         "build-budget: expected a duration such as 90, 90s, 5m, 1h30m or 500ms, found \"soon\""},
        {"{\"build-budget\":0}", "build-budget: 0 is out of range; expected 0.1 to 86400"},
        {"{\"mode\":\"fats\"}",
         "mode: unknown value \"fats\"; did you mean fast? (auto, fast or slow)"},
        {"{\"model\":[1]}", "model: expected a string or an array of strings"},
        {"{\"model\":{}}", "model: expected a string or an array of strings"},
        {"{\"store\":\"\"}", "store: the path is empty"},
        {"[]", "expected an object of settings"},
        {"{\"jobs\":1,\"jobs\":2}", "the key \"jobs\" comes twice in one object"},
        {"{", "1:2: the JSON text ends in the middle"},
        {"", "the file is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("bad/kforge.json", cases[i].json);
        kf_error error = {0};
        kf_auto(kf_config) config = load("bad", NULL, &error);
        if (config) fail_msg("%s was accepted", cases[i].json);
        const char *text = error.text + strlen(folder);
        if (!strstr(error.text, "/bad/kforge.json") || !strstr(text, cases[i].text))
            fail_msg("%s: %s", cases[i].json, error.text);
        assert_int_equal(error.code, KF_ERROR_INPUT);
    }
}

static void test_file_values(void **state)
{
    (void)state;
    put("good/kforge.json", "{\"build-budget\": 12.25, \"ratio\": 0.1, \"jobs\": 64, \"model\": "
                            "\"one\", \"store\": \"/abs.db\"}");
    kf_error error = {0};
    kf_auto(kf_config) config = load("good", NULL, &error);
    if (!config) fail_msg("%s", error.text);
    assert_true(parse_with(config, NULL, ""));
    const settings *s = parsed.settings;
    assert_true(s->budget == 12.25 && s->ratio == 0.1);
    assert_int_equal(s->jobs, 64);
    assert_string_equal(s->model.items[0], "one");
    assert_string_equal(s->store, "/abs.db");
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_too_many_items),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_empty_list),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_environment),
        cmocka_unit_test_setup_teardown(test_places, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_file_errors, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_file_values, make_folder, remove_folder),
    };
    return TEST_GROUP(tests, NULL, clear);
}
