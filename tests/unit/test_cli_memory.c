/* Fails each allocation of options, configuration, tables and the starter task once, as
 * test_agent_memory does. Each time there must be an error, or the result of a run without
 * failures. A setting must never be lost silently. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "failing_allocator.h"
#include "kforge/file.h"
#include "options.h"
#include "starter.h"
#include "table.h"

int __real_vasprintf(char **text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
int __wrap_vasprintf(char **text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
int __wrap_vasprintf(char **text, const char *format, va_list arguments)
{
    return fails_now() ? -1 : __real_vasprintf(text, format, arguments);
}

/* Writes its result into `text`. False with an error. */
typedef bool work(char text[4096], kf_error *error);

static void fail_each(work *run)
{
    char whole[4096], text[4096];
    kf_error error = {0};
    until_failure = -1;
    bool good = run(whole, &error);
    char expected[sizeof error.text];
    memcpy(expected, error.text, sizeof expected);
    for (long n = 0; n < 10000; n++) {
        error = (kf_error){0};
        failed_once = false;
        until_failure = n;
        bool now = run(text, &error);
        until_failure = -1;
        if (now && strcmp(text, whole) != 0)
            fail_msg("allocation %ld: another result: %s", n, text);
        if (now && !good) fail_msg("allocation %ld: an error was lost", n);
        if (!now && !error.text[0]) fail_msg("allocation %ld: no error told", n);
        if (!now && error.code != KF_ERROR_MEMORY && strcmp(error.text, expected) != 0)
            fail_msg("allocation %ld: %s", n, error.text);
        if (!failed_once) {
            assert_true(n > 0);
            return;
        }
    }
    fail_msg("no end");
}

typedef struct settings {
    const char *store, *mode;
    kf_option_list model;
    int64_t jobs;
    double seconds;
} settings;

static const kf_option options[] = {
    {KF_OPTION(PATH, "store", "FILE", settings, store), .config = true, .help = "x"},
    {KF_OPTION(CHOICE, "mode", "MODE", settings, mode), .choices = "auto|fast", .config = true,
     .help = "x"},
    {KF_OPTION(LIST, "model", "SPEC", settings, model), .config = true, .help = "x"},
    {KF_OPTION(INTEGER, "jobs", "N", settings, jobs), .config = true, .help = "x"},
    {KF_OPTION(DURATION, "seconds", "S", settings, seconds), .config = true, .help = "x"},
    {0},
};
static const kf_command command = {.name = "task eval",
                                   .summary = "s",
                                   .most_arguments = 9,
                                   .options = options,
                                   .settings_size = sizeof(settings)};
static const kf_command *const commands[] = {&command, NULL};

static char *folder;

static bool load_and_parse(char text[4096], kf_error *error)
{
    char home[4096];
    snprintf(home, sizeof home, "HOME=%s", folder);
    const char *const environment[] = {home, "KFORGE_MODE=fast", NULL};
    kf_surroundings surroundings = {.directory = folder, .environment = environment};
    kf_auto(kf_config) config = kf_config_load(commands, &surroundings, error);
    const char *const arguments[] = {"one", "--model=a", "--model", "b", "two"};
    kf_autoparsed parsed = {0};
    kf_autobuffer unknown = {0};
    if (!config || !kf_environment_check(commands, &surroundings, &unknown, error) ||
        !kf_options_parse(&command, config, &surroundings, arguments, 5, &parsed, error))
        return false;
    const settings *s = parsed.settings;
    snprintf(text, 4096, "%s %s %s%s %lld %g %zu", s->store, s->mode, s->model.items[0],
             s->model.items[1], (long long)s->jobs, s->seconds, parsed.argument_count);
    return true;
}

static void put(const char *name, const char *content)
{
    kf_error error;
    kf_autofree char *path = kf_path_join(folder, name), *parent = strdup(path);
    *strrchr(parent, '/') = '\0';
    assert_true(kf_directory_make(parent, &error) &&
                kf_file_write(path, content, strlen(content), &error));
}

static void test_sources(void **state)
{
    (void)state;
    put("kforge.json", "{\"store\": \"x.db\", \"jobs\": 7}");
    put(".config/kforge/kforge.json", "{\"seconds\": 2.5, \"jobs\": 3}");
    fail_each(load_and_parse);
}

static void test_bad_sources(void **state)
{
    (void)state;
    put("kforge.json", "{\"mode\": \"fats\"}");
    fail_each(load_and_parse);
    put("kforge.json", "{\"moed\": \"fast\"}");
    fail_each(load_and_parse);
}

static bool find_unknown(char text[4096], kf_error *error)
{
    static const char *const words[] = {"task", "zzzz"};
    size_t used;
    text[0] = '\0';
    return kf_command_find(commands, words, 2, &used, error) != NULL;
}

static void test_commands(void **state)
{
    (void)state;
    fail_each(find_unknown);
}

static bool print_table(char text[4096], kf_error *error)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, "A", ">B", NULL);
    for (int i = 0; i < 100; i++) kf_table_cell(&table, "%d", i);
    long left = until_failure;
    /* The allocations of fmemopen do not count. */
    until_failure = -1;
    memset(text, 0, 4096);
    FILE *out = fmemopen(text, 4096, "w");
    kf_table_print(&table, out, 0, 0, false);
    fclose(out);
    until_failure = left;
    return !strstr(text, "out of memory") || kf_fail(error, KF_ERROR_MEMORY, "out of memory");
}

static void test_table(void **state)
{
    (void)state;
    fail_each(print_table);
}

/* A folder that exists is complete. After a failure neither the folder nor a temporary one exists.
 */
static bool write_starter(char text[4096], kf_error *error)
{
    kf_autofree char *target = NULL;
    long left = until_failure;
    until_failure = -1;
    target = kf_path_join(folder, "starter/new");
    until_failure = left;
    bool good = kf_starter_write(target, error);
    until_failure = -1;
    assert_int_equal(access(target, F_OK) == 0, good);
    assert_true(kf_directory_remove(target, NULL));
    kf_autofree char *parent = kf_path_join(folder, "starter");
    if (rmdir(parent) != 0 && access(parent, F_OK) == 0)
        fail_msg("something is left in %s", parent);
    snprintf(text, 4096, "made");
    return good;
}

static void test_starter(void **state)
{
    (void)state;
    fail_each(write_starter);
}

static int make_folder(void **state)
{
    (void)state;
    until_failure = -1;
    kf_error error;
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = __wrap_malloc, .free_fn = free});
    folder = kf_directory_temporary("kforge-memory", &error);
    return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    until_failure = -1;
    bool removed = kf_directory_remove(folder, NULL);
    free(folder);
    return removed ? 0 : -1;
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sources, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_bad_sources, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_commands, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_table, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_starter, make_folder, remove_folder),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
