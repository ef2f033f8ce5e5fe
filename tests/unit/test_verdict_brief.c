/* The brief verdict: its size, its figures, the compiler's errors, and a next step for every status
 * and for every rule of docs/reference/verdict-rules.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "mismatches.h"
#include "test_main.h"
#include "throttling.h"
#include "verdict_brief.h"

/* About 120 tokens. */
#define BRIEF_BYTES 480
#define BRIEF_BYTES_AT_MOST 800

static kf_verdict *new_verdict(void)
{
    kf_verdict *v = kf_verdict_new("id", "axpy", "cpu:0");
    assert_non_null(v);
    assert_true(kf_verdict_set_text(
        &v->source_hash, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
    return v;
}

static void conclude_rule(kf_verdict *v, kf_status status, kf_blame blame, const char *rule,
                          const char *text)
{
    kf_workload_verdict *w = kf_verdict_add_workload(v, "ragged", true);
    assert_non_null(w);
    assert_non_null(kf_verdict_add_finding(v, w, status, blame, rule, NAN, NAN, "%s", text));
    kf_verdict_conclude(v);
}

static char *next_of_rule(kf_status status, kf_blame blame, const char *rule)
{
    kf_auto(kf_verdict) v = new_verdict();
    conclude_rule(v, status, blame, rule, "something");
    return kf_verdict_next(v);
}

/* One sentence, with a capital and a full stop, that fits a line. */
static void is_a_sentence(const char *next)
{
    size_t size = strlen(next);
    assert_true(size > 10 && size < 140);
    assert_true(next[0] >= 'A' && next[0] <= 'Z');
    assert_int_equal(next[size - 1], '.');
    assert_null(strstr(next, ". "));
    assert_null(strchr(next, ';'));
    assert_null(strchr(next, '\n'));
}

static const char *text_of(const cJSON *json, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));
    assert_non_null(text);
    return text;
}

static void every_status_has_a_next_step(void **state)
{
    (void)state;
    for (int s = 0; s < KF_CORRECT; s++)
        for (int b = 0; b <= KF_BLAME_JUDGE; b++) {
            kf_autofree char *next = next_of_rule((kf_status)s, (kf_blame)b, "no.rule");
            is_a_sentence(next);
        }
}

static void every_documented_rule_has_a_next_step(void **state)
{
    (void)state;
    kf_error error;
    size_t size, rules = 0;
    kf_autofree char *page =
        kf_file_read(KFORGE_SOURCE_DIR "/docs/reference/verdict-rules.md", 1 << 20, &size, &error);
    assert_non_null(page);
    char *line = strstr(page, "## Rules"), *end = strstr(page, "## Flags");
    assert_true(line && end);
    *end = '\0';
    for (; line; line = strchr(line + 1, '\n')) {
        char rule[64], status[64];
        if (sscanf(line, "\n| `%63[^`]` | `%63[^`]`", rule, status) != 2) continue;
        kf_status parsed;
        assert_true(kf_status_parse(status, &parsed));
        rules++;
        /* Its words come from the log, from the correct verdict, or from its flags. */
        if (strcmp(rule, "build.failed") == 0 || parsed == KF_CORRECT) continue;
        kf_autofree char *own = next_of_rule(parsed, KF_BLAME_NOBODY, rule);
        kf_autofree char *other = next_of_rule(parsed, KF_BLAME_NOBODY, "no.rule");
        is_a_sentence(own);
        bool general = strcmp(rule, "output.mismatch") == 0;
        if (!general && strcmp(own, other) == 0) fail_msg("%s has no step of its own", rule);
    }
    assert_true(rules > 50);
}

static void a_mismatch_says_where_and_what_to_look_for(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *word;
    } rows[] = {
        {"tail from 4096", "loop bound"},
        {"tail from 4096, random values", "loop bound"},
        {"tail from 4096, NaN", "loop bound"},
        {"tail from 4096, not written", "every element"},
        {"last column, zeros", "column loop"},
        {"last column", "column"},
        {"everywhere", "formula"},
        {"5 scattered, like a race", "barrier"},
        {"5 scattered, NaN", "overflow"},
        {"scattered over 9 to 542, all inf", "overflow"},
        {"everywhere, NaN, depends on the order of threads", "__syncthreads"},
        {"everywhere, zeros", "zero"},
        {"every 32nd from 0", "stride"},
        {"element 4096", "bounds"},
        {"elements 4096 to 4102", "bounds"},
        {"everywhere, not written", "every element"},
        {"everywhere, added to old values", "before adding"},
        /* The place is in the next step too. */
        {"rows 0-49, columns 1000-1002, not written", "rows 0-49, columns 1000-1002"},
        {"nearly everywhere, differs from call to call", "race"},
        {"everywhere, 0.5 times the expected value", "one factor"},
        {"everywhere, the expected value plus 0.25", "one offset"},
        {"everywhere, 0.5 times the expected, plus 0.25", "a factor and an offset"},
        {"everywhere, one factor and offset for each row", "values of a row"},
        {"everywhere, one factor and offset for each column", "values of a column"},
        {"scattered over 1 to 9999, all expected < 0", "negative"},
        {"scattered over 1 to 9999, all expected > 0", "positive"},
        {"all over: about 16 bits of precision are left", "long sums in pieces"},
        {"an odd pattern", "reference"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) v = new_verdict();
        kf_workload_verdict *w = kf_verdict_add_workload(v, "ragged", true);
        kf_output_check *output = kf_workload_add_output(w, "y");
        output->figures = (kf_error_figures){.max = 1.5,
                                             .allowed_max = 1e-6,
                                             .compared = 50150,
                                             .mismatched = 7,
                                             .first_index = 4096,
                                             .first_expected = 1.25,
                                             .first_got = -0.25};
        snprintf(output->figures.pattern, sizeof output->figures.pattern, "%s", rows[i].pattern);
        kf_verdict_conclude(v);
        kf_auto(cJSON) json = kf_verdict_brief(v, "c38");
        const char *summary = text_of(json, "summary"), *next = text_of(json, "next");
        assert_non_null(strstr(summary, "workload ragged: y[4096] expected 1.25, got -0.25"));
        assert_non_null(strstr(summary, "limit 1e-06"));
        assert_non_null(strstr(summary, rows[i].pattern));
        is_a_sentence(next);
        if (!strstr(next, rows[i].word)) fail_msg("%s: %s", rows[i].pattern, next);
        assert_string_equal(text_of(json, "candidate"), "c38");
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(json, "speedup")));
        assert_true(cJSON_IsFalse(cJSON_GetObjectItem(json, "ok")));
    }
}

/* A value cut in the middle reads as another value. */
static void a_pattern_never_ends_within_a_word(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *whole;
    } rows[] = {
        {"everywhere", "everywhere, differs from call to call"},
        {"scattered over 2 to 262143", "scattered over 2 to 262143, differs from call to call"},
        {"rows 12000-13000, columns 1000-1002, all 0.12345",
         "rows 12000-13000, columns 1000-1002, differs from call to call"},
        {"everywhere, 1.0654 times the expected value", "everywhere, differs from call to call"},
        {"everywhere, 1.0654 times the expected, plus 0.0625",
         "everywhere, differs from call to call"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error_figures f = {0};
        snprintf(f.pattern, sizeof f.pattern, "%s", rows[i].pattern);
        kf_pattern_append(f.pattern, sizeof f.pattern, KF_PATTERN_CALLS);
        assert_string_equal(f.pattern, rows[i].whole);
    }
}

/* Only a pattern that rounding cannot have changes the step of an inexact output. */
static void an_inexact_output_may_have_a_wrong_factor(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *word;
    } rows[] = {
        {"everywhere, 0.9995 times the expected value", "one factor"},
        {"everywhere, one factor and offset for each column", "values of a column"},
        {"tail from 4096", "long sums in pieces"},
        {"all over: about 10 bits of precision are left", "long sums in pieces"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) v = new_verdict();
        kf_workload_verdict *w = kf_verdict_add_workload(v, "ragged", true);
        kf_output_check *output = kf_workload_add_output(w, "y");
        output->figures.mismatched = 7;
        output->figures.first_index = 1000;
        snprintf(output->figures.pattern, sizeof output->figures.pattern, "%s", rows[i].pattern);
        assert_non_null(kf_verdict_add_finding(
            v, w, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "output.inaccurate", NAN, NAN,
            "y: 7 of 50 elements too inexact, first at y[0][1000]: expected 1, got 2"));
        kf_verdict_conclude(v);
        kf_autofree char *next = kf_verdict_next(v), *summary = kf_verdict_summary(v);
        is_a_sentence(next);
        if (!strstr(next, rows[i].word)) fail_msg("%s: %s", rows[i].pattern, next);
        assert_non_null(strstr(summary, "workload ragged: y[0][1000] expected "));
    }
}

/* AddressSanitizer takes CUDA sources on the CPU device only. */
static void a_crash_has_a_step_that_works(void **state)
{
    (void)state;
    static const struct {
        const char *device, *provenance;
        kf_next_action action;
    } rows[] = {
        {"cpu:0", NULL, KF_NEXT_ADDRESS},
        {"cpu:0", "{\"options\":{\"asan\":false}}", KF_NEXT_ADDRESS},
        {"cpu:0", "{\"options\":{\"torch\":true}}", KF_NEXT_NOTHING},
        {"cuda:0", "{\"options\":{\"asan\":false}}", KF_NEXT_NOTHING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) v = kf_verdict_new("id", "axpy", rows[i].device);
        assert_non_null(v);
        if (rows[i].provenance) v->provenance = cJSON_Parse(rows[i].provenance);
        conclude_rule(v, KF_CRASH, KF_BLAME_CANDIDATE, "runner.crashed", "signal 11");
        kf_autofree char *next = kf_verdict_next(v);
        is_a_sentence(next);
        assert_int_equal(kf_verdict_next_action(v), rows[i].action);
        if ((strstr(next, "--asan") != NULL) != (rows[i].action == KF_NEXT_ADDRESS) ||
            strstr(next, "--sanitize"))
            fail_msg("%zu: %s", i, next);
    }
}

static void a_suspicion_goes_before_the_pattern(void **state)
{
    (void)state;
    kf_auto(kf_verdict) v = new_verdict();
    conclude_rule(v, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "output.mismatch", "y: 4 wrong");
    assert_true(kf_verdict_add_flag(v, KF_FLAG_SUSPECTED "state.skips_work"));
    kf_autofree char *next = kf_verdict_next(v);
    assert_non_null(strstr(next, "every call"));
}

static kf_verdict *failed_build(kf_status status, const char *reason, const char *log)
{
    kf_verdict *v = new_verdict();
    v->build = cJSON_CreateObject();
    assert_non_null(cJSON_AddStringToObject(v->build, "log", log));
    assert_non_null(kf_verdict_add_finding(v, NULL, status, KF_BLAME_CANDIDATE, "build.failed", NAN,
                                           NAN, "%s", reason));
    kf_verdict_conclude(v);
    return v;
}

static void errors_of_both_compilers_are_read(void **state)
{
    (void)state;
    static const char log[] = "In file included from candidate.cu:1:\n"
                              "candidate.cu: In function 'void k(float*)':\n"
                              "candidate.cu:4:3: error: expected ';' before 'if'\n"
                              "    4 |   if (i)\n"
                              "candidate.cu:4:3: error: expected ';' before 'if'\n"
                              "candidate.cu:5:1: note: to match this '('\n"
                              "not_candidate.cu:6:1: error: in another file\n"
                              "/b/candidate.cu:7:2: fatal error: x.h: No such file\n"
                              "candidate.cu(9): error: identifier \"q\" is undefined\n"
                              "candidate.cu(11): warning #177-D: unused\n"
                              "candidate.cu(12): error #20: identifier \"r\" is undefined\n";
    kf_auto(kf_verdict) v = failed_build(KF_COMPILE_ERROR, "candidate.cu:4:3: error: x", log);
    kf_source_error errors[8];
    assert_int_equal(kf_verdict_errors(v, errors, 8), 4);
    assert_int_equal(errors[0].line, 4);
    assert_int_equal(errors[0].column, 3);
    assert_string_equal(errors[0].text, "expected ';' before 'if'");
    assert_int_equal(errors[1].line, 7);
    assert_string_equal(errors[1].text, "x.h: No such file");
    assert_int_equal(errors[2].line, 9);
    assert_int_equal(errors[2].column, 0);
    assert_string_equal(errors[2].text, "identifier \"q\" is undefined");
    assert_int_equal(errors[3].line, 12);
    assert_string_equal(errors[3].text, "identifier \"r\" is undefined");
    assert_int_equal(kf_verdict_errors(v, errors, 2), 2);
    kf_auto(cJSON) json = kf_verdict_brief(v, NULL);
    assert_string_equal(text_of(json, "next"), "Fix line 4 first.");
    assert_string_equal(text_of(json, "candidate"), "0123456789ab");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "errors")), KF_BRIEF_ERRORS);
}

static void other_failed_builds_have_a_next_step(void **state)
{
    (void)state;
    static const struct {
        kf_status status;
        const char *reason, *log, *word;
    } rows[] = {
        {KF_UNSUPPORTED_DEVICE, "candidate.cu:3: unsupported on the CPU device: inline PTX (x)",
         "candidate.cu:3: unsupported on the CPU device: inline PTX (x)\n", "line 3"},
        {KF_COMPILE_ERROR, "candidate.cu does not define void f()", "undefined reference to `f'",
         "prototype, which `kforge task show axpy` prints"},
        /* The line is right as C++, so its number is no help. */
        {KF_COMPILE_ERROR,
         "candidate.cu:4:1: error: conflicting declaration of C function 'void f(int)'. Define "
         "extern \"C\" void f(float x)",
         "candidate.cu:4:1: error: conflicting declaration of C function 'void f(int)'\n",
         "`kforge task show axpy`"},
        {KF_COMPILE_ERROR, "undefined reference to `g()'", "undefined reference", "symbol"},
        {KF_COMPILE_ERROR, "the build went over a limit: time", "", "simpler"},
        {KF_COMPILE_ERROR, "ptxas error   : too much shared data", "", "first error"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) v = failed_build(rows[i].status, rows[i].reason, rows[i].log);
        kf_autofree char *next = kf_verdict_next(v);
        is_a_sentence(next);
        if (!strstr(next, rows[i].word)) fail_msg("%s: %s", rows[i].reason, next);
    }
}

/* A correct verdict of one workload. `floor` 0: unknown. */
static kf_verdict *correct_verdict(kf_interval speedup, double floor)
{
    kf_verdict *v = new_verdict();
    kf_workload_verdict *w = kf_verdict_add_workload(v, "large", true);
    w->status = KF_CORRECT;
    w->speedup = speedup;
    w->candidate_seconds = 2e-3;
    w->baseline_seconds = 2e-3 * speedup.value;
    w->floor_seconds = floor;
    w->pairs = isnan(speedup.value) ? 0 : 9;
    kf_verdict_conclude(v);
    return v;
}

/* What fails on other data is a fault of the formula, so it goes before figures of time. */
static void a_correct_verdict_names_the_data_it_fails_on(void **state)
{
    (void)state;
    kf_auto(kf_verdict) v = correct_verdict((kf_interval){1.5, 1.4, 1.6}, 0);
    kf_workload_verdict *w = kf_verdict_add_workload(v, "sparse", false);
    w->unseen = KF_UNSEEN_DATA;
    kf_output_check *output = kf_workload_add_output(w, "y");
    output->figures.mismatched = 7;
    output->figures.first_index = 4;
    strcpy(output->figures.pattern, "everywhere, one factor and offset for each row");
    assert_non_null(kf_verdict_add_finding(v, w, KF_WRONG_RESULT, KF_BLAME_CANDIDATE,
                                           "output.mismatch", NAN, NAN, "y: 7 wrong"));
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_CORRECT);
    kf_autofree char *next = kf_verdict_next(v);
    is_a_sentence(next);
    assert_non_null(strstr(next, "For workload sparse, check divisors, constants such as an eps"));
    assert_int_equal(kf_verdict_next_action(v), KF_NEXT_NOTHING);
    w->unseen = KF_UNSEEN_SIZES;
    kf_autofree char *sizes = kf_verdict_next(v);
    assert_null(strstr(sizes, "sparse"));
}

static void a_correct_verdict_says_how_far_the_floor_is(void **state)
{
    (void)state;
    static const struct {
        kf_interval speedup;
        double floor;
        const char *word;
        kf_next_action action;
    } rows[] = {
        {{1.40321, 1.31, 1.5},
         0.5e-3,
         "large: it takes 4 times the device's least time",
         KF_NEXT_PROFILE},
        {{1.40321, 1.31, 1.5}, 1.9e-3, "Stop here", KF_NEXT_NOTHING},
        {{1.4, 0.6, 8}, 1.9e-3, "interval is too wide", KF_NEXT_LONGER},
        {{0.7, 0.6, 0.8}, 0, "0.7 times the baseline's speed", KF_NEXT_PROFILE},
        {{NAN, NAN, NAN}, 0, "Time it", KF_NEXT_TIME},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) v = correct_verdict(rows[i].speedup, rows[i].floor);
        assert_int_equal(v->status, KF_CORRECT);
        kf_auto(cJSON) json = kf_verdict_brief(v, "c1");
        const char *next = text_of(json, "next");
        is_a_sentence(next);
        if (!strstr(next, rows[i].word)) fail_msg("%zu: %s", i, next);
        assert_int_equal(kf_verdict_next_action(v), rows[i].action);
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(json, "ok")));
        if (i) continue;
        kf_autofree char *text = cJSON_PrintUnformatted(json);
        assert_non_null(strstr(text, "\"speedup\":[1.403,1.31,1.5]"));
    }
    kf_auto(kf_verdict) lost = correct_verdict((kf_interval){NAN, NAN, NAN}, 0);
    lost->workloads[0].pairs = 5;
    kf_autofree char *next = kf_verdict_next(lost);
    assert_non_null(strstr(next, "--seconds"));
    kf_auto(kf_verdict) unsure = correct_verdict((kf_interval){2, 1.9, 2.1}, 0);
    assert_true(kf_verdict_add_flag(unsure, "verify.disagrees:3..4"));
    kf_autofree char *again = kf_verdict_next(unsure);
    assert_non_null(strstr(again, "Measure again"));
}

/* ---- throttling ------------------------------------------------------------------------------ */

/* Returns a verdict that was recorded on a GPU, without throttling. */
static kf_verdict *recorded_verdict(void)
{
    kf_error error;
    size_t size;
    kf_autofree char *text =
        kf_file_read(KFORGE_SOURCE_DIR "/tests/unit/data/recorded/h100-histogram.verdict.json",
                     1 << 22, &size, &error);
    assert_non_null(text);
    kf_auto(cJSON) json = cJSON_Parse(text);
    kf_verdict *v = kf_verdict_from_json(json, &error);
    if (!v) fail_msg("%s", error.text);
    return v;
}

/* Sets the reasons of one in `each` of the timed batches, and returns the number of all of them. */
static size_t throttle(kf_workload_verdict *w, uint64_t reasons, size_t each)
{
    size_t timed = 0;
    for (size_t i = 0; i < w->sample_count; i++) {
        kf_sample *s = &w->samples[i];
        bool counts = s->pair >= 0 && (s->side == 'b' || s->side == 'c');
        /* Other samples do not count, so all of them are throttled. */
        s->throttle = !counts || timed % each == 0 ? reasons : 0;
        timed += counts;
    }
    return timed;
}

static void only_slowdowns_are_flagged(void **state)
{
    (void)state;
    static const struct {
        uint64_t reasons;
        size_t each;
        /* the interval's upper end over its lower */
        double ratio;
        const char *reason;
    } rows[] = {
        {0x20, 1, 1.01, "heat"},
        {0x40, 1, 1.01, "heat"},
        {0x80, 1, 1.01, "power"},
        {0x8, 1, 1.01, "hardware"},
        {0x8 | 0x40, 2, 1.01, "heat"},
        {0x8 | 0x80, 9, 1.01, "power"},
        {0x4 | 0x20, 1, 1.01, "heat"},
        /* too few to move the median */
        {0x8, 11, 1.01, NULL},
        /* at the power cap: usual, unless the interval is wide */
        {0x4, 1, 1.01, NULL},
        {0x4, 1, 1.2, "limit"},
        {0x4, 1, NAN, NULL},
        /* idle, application clocks, synchronised boost, display; and no reason */
        {0x1 | 0x2 | 0x10 | 0x100, 1, 1.2, NULL},
        {0, 1, 1.2, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) v = recorded_verdict();
        kf_workload_verdict *w = v->workloads;
        while (!w->timed) w++;
        char flag[128];
        w->speedup = (kf_interval){2, 2, 2 * rows[i].ratio};
        assert_true(kf_throttling_flag(v, w));
        assert_null(kf_throttling_find(v));
        size_t timed = throttle(w, rows[i].reasons, rows[i].each);
        assert_true(timed >= 20);
        assert_true(kf_throttling_flag(v, w));
        const char *found = kf_throttling_find(v);
        if (!rows[i].reason) {
            if (found) fail_msg("row %zu: %s", i, found);
            continue;
        }
        snprintf(flag, sizeof flag, "clocks.throttled:%s:%zu:%zu:%s", w->workload,
                 (timed + rows[i].each - 1) / rows[i].each, timed, rows[i].reason);
        if (!found || strcmp(found, flag) != 0) fail_msg("row %zu: %s", i, found ? found : "none");
        /* A later measurement of the workload replaces the flag. */
        throttle(w, 0, 1);
        assert_true(kf_throttling_flag(v, w));
        assert_null(kf_throttling_find(v));
    }
}

static void a_throttled_gpu_has_a_next_step(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *word;
    } rows[] = {{"heat", "Cool the GPU"},
                {"power", "power supply"},
                {"hardware", "PERFORMANCE"},
                {"limit", "lower clock"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int disturbed = 0; disturbed < 2; disturbed++) {
            kf_auto(kf_verdict) v = correct_verdict((kf_interval){2, 1.9, 2.1}, 0);
            if (disturbed)
                conclude_rule(v, KF_INTERFERENCE, KF_BLAME_MACHINE, "baseline.disturbed", "slow");
            assert_true(kf_verdict_add_flag(v, "clocks.throttled:a:12:60:%s", rows[i].reason));
            kf_autofree char *next = kf_verdict_next(v);
            is_a_sentence(next);
            assert_non_null(strstr(next, rows[i].word));
            assert_non_null(strstr(next, "12 of 60 timed batches"));
            kf_autobuffer words = {0};
            assert_true(kf_throttling_words(v->flags[0], &words));
            assert_non_null(strstr(words.data, "12 of 60 timed batches of workload a; remedy: "));
        }
    static const char *const others[] = {"clocks.throttled",
                                         "clocks.throttled:a:1:2",
                                         "clocks.throttled:a:1:2:frost",
                                         "memory.unquiet:a",
                                         "clocks.throttled:1:2:heat",
                                         "clocks.throttled:a:x:2:heat",
                                         "clocks.throttled::1:2:heat",
                                         "clocks.throttled:a:b:1:2:heat"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kf_autobuffer words = {0};
        if (kf_throttling_words(others[i], &words)) fail_msg("%s", others[i]);
        assert_int_equal(words.size, 0);
    }
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Long texts are cut between characters; the median of all kinds stays below the limit. */
static void brief_is_brief(void **state)
{
    (void)state;
    size_t sizes[KF_CORRECT + 3], count = 0;
    char text[1200];
    for (size_t i = 0; i + 3 < sizeof text; i += 3) memcpy(text + i, "\xe2\x80\x98", 4);
    for (int s = 0; s < KF_CORRECT; s++) {
        kf_auto(kf_verdict) v = new_verdict();
        conclude_rule(v, (kf_status)s, KF_BLAME_CANDIDATE, "guard.broken", text);
        kf_auto(cJSON) json = kf_verdict_brief(v, "c12345");
        kf_autofree char *line = cJSON_PrintUnformatted(json);
        sizes[count++] = strlen(line);
        kf_autofree char *clean = kf_text_clean(line, strlen(line), true);
        assert_string_equal(clean, line); /* valid UTF-8 */
    }
    char log[8192] = "";
    for (int i = 1; i < 10; i++)
        snprintf(log + strlen(log), sizeof log - strlen(log), "candidate.cu:%d:7: error: %.300s\n",
                 i, text);
    kf_auto(kf_verdict) build = failed_build(KF_COMPILE_ERROR, "candidate.cu:1:7: error: x", log);
    kf_auto(kf_verdict) correct = correct_verdict((kf_interval){1.4, 1.3, 1.5}, 1e-3);
    cJSON *brief[] = {kf_verdict_brief(build, "c1"), kf_verdict_brief(correct, "c1"),
                      kf_brief_no_source(text)};
    for (int i = 0; i < 3; i++) {
        kf_autofree char *line = cJSON_PrintUnformatted(brief[i]);
        sizes[count++] = strlen(line);
        cJSON_Delete(brief[i]);
    }
    qsort(sizes, count, sizeof *sizes, compare_sizes);
    assert_true(sizes[count / 2] <= BRIEF_BYTES);
    assert_true(sizes[count - 1] <= BRIEF_BYTES_AT_MOST);
}

static void a_reply_without_source_has_its_own_status(void **state)
{
    (void)state;
    kf_auto(cJSON) json = kf_brief_no_source("the reply is empty");
    assert_string_equal(text_of(json, "status"), KF_STATUS_NO_SOURCE);
    assert_string_equal(text_of(json, "summary"), "the reply is empty");
    is_a_sentence(text_of(json, "next"));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(json, "ok")));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_next_step),
        cmocka_unit_test(every_documented_rule_has_a_next_step),
        cmocka_unit_test(a_mismatch_says_where_and_what_to_look_for),
        cmocka_unit_test(a_pattern_never_ends_within_a_word),
        cmocka_unit_test(an_inexact_output_may_have_a_wrong_factor),
        cmocka_unit_test(a_crash_has_a_step_that_works),
        cmocka_unit_test(a_suspicion_goes_before_the_pattern),
        cmocka_unit_test(errors_of_both_compilers_are_read),
        cmocka_unit_test(other_failed_builds_have_a_next_step),
        cmocka_unit_test(a_correct_verdict_names_the_data_it_fails_on),
        cmocka_unit_test(a_correct_verdict_says_how_far_the_floor_is),
        cmocka_unit_test(only_slowdowns_are_flagged),
        cmocka_unit_test(a_throttled_gpu_has_a_next_step),
        cmocka_unit_test(brief_is_brief),
        cmocka_unit_test(a_reply_without_source_has_its_own_status),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
