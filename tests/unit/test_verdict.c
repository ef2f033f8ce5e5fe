/* Verdicts: JSON round trips of random verdicts, strict reading, precedence, hostile text, and
 * every allocation failing once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/json.h"
#include "machine_failures.h"
#include "kforge/verdict.h"

/* ---- allocation that fails on demand (the linker routes libkforge's calls here) -------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *block);

static long allocations_left = -1; /* negative: unlimited */
static long live_blocks;

static bool may_allocate(void)
{
    if (allocations_left == 0) return false;
    if (allocations_left > 0) allocations_left--;
    return true;
}

static void *counted(void *block)
{
    live_blocks += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? counted(__real_malloc(size)) : NULL;
}
void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? counted(__real_calloc(count, size)) : NULL;
}
void __wrap_free(void *block)
{
    live_blocks -= block != NULL;
    __real_free(block);
}
void *__wrap_realloc(void *old, size_t size)
{
    if (!may_allocate()) return NULL;
    void *block = __real_realloc(old, size);
    live_blocks += block && !old;
    return block;
}

/* ---- random verdicts ------------------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t random_bits(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15ull; /* SplitMix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static int below(int limit)
{
    return (int)(random_bits() % (uint64_t)limit);
}

static double random_double(void)
{
    static const double special[] = {
        NAN, INFINITY, -INFINITY, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 1.0 / 3, 1e22};
    if (below(3) == 0) return special[below(10)];
    uint64_t bits = random_bits();
    double value;
    memcpy(&value, &bits, sizeof value);
    return isnan(value) ? (double)NAN : value;
}

/* Returns printable and other characters, ASCII and other. It is always valid UTF-8 without control
 * characters, since only that is kept. */
static const char *random_text(void)
{
    static char text[64];
    static const char *const parts[] = {
        "a",   "B9", " ", "\"", "\\", "/", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x94\xa5",
        "<&>", "%s"};
    text[0] = '\0';
    for (int i = below(12); i > 0; i--) strcat(text, parts[below(11)]);
    return text;
}

static int64_t random_count(void)
{
    return (int64_t)(random_bits() >> (1 + below(63)));
}
static kf_interval random_interval(void)
{
    return (kf_interval){random_double(), random_double(), random_double()};
}

static void add_random_findings(kf_verdict *v, kf_workload_verdict *w)
{
    for (int i = below(4); i > 0; i--) {
        char text[64];
        strcpy(text, random_text());
        assert_non_null(kf_verdict_add_finding(v, w, (kf_status)below(KF_STATUS_COUNT),
                                               (kf_blame)below(5), random_text(), random_double(),
                                               random_double(), "%s", text));
    }
}

static void add_random_workload(kf_verdict *v)
{
    kf_workload_verdict *w = kf_verdict_add_workload(v, random_text(), below(2));
    assert_non_null(w);
    w->status = (kf_status)below(KF_STATUS_COUNT);
    add_random_findings(v, w);
    for (int i = below(3); i > 0; i--) {
        kf_output_check *output = kf_workload_add_output(w, random_text());
        output->figures = (kf_error_figures){random_double(),
                                             random_double(),
                                             random_double(),
                                             random_double(),
                                             random_double(),
                                             random_double(),
                                             random_count(),
                                             random_count(),
                                             random_count() - 1,
                                             random_double(),
                                             random_double(),
                                             "",
                                             false,
                                             false,
                                             0,
                                             0};
        strcpy(output->figures.pattern, random_text());
    }
    w->speedup = random_interval();
    w->latency_speedup = random_interval();
    w->baseline_seconds = random_double();
    w->candidate_seconds = random_double();
    w->latency_baseline_seconds = random_double();
    w->latency_candidate_seconds = random_double();
    w->batch_cost_seconds = random_double();
    w->floor_seconds = random_double();
    w->sets = below(100);
    w->pairs = below(1000);
    bool plain = below(2);
    for (int i = below(20); i > 0; i--) {
        kf_sample sample = {"bcna"[below(4)],
                            below(100) - 1,
                            below(1 << 30),
                            random_double(),
                            plain ? (double)NAN : random_double(),
                            plain ? (double)NAN : random_double(),
                            plain ? 0 : random_bits()};
        assert_true(kf_workload_add_sample(w, &sample));
    }
}

static kf_verdict *random_verdict(uint64_t seed)
{
    random_state = seed;
    kf_verdict *v = kf_verdict_new(random_text(), random_text(), "cpu:0");
    assert_true(kf_verdict_set_text(&v->task_hash, random_text()) &&
                kf_verdict_set_text(&v->code_hash, random_text()));
    v->status = (kf_status)below(KF_STATUS_COUNT);
    v->blame = (kf_blame)below(5);
    v->speedup = random_interval();
    v->reverified = below(2);
    v->build_seconds = random_double();
    v->judge_seconds = random_double();
    add_random_findings(v, NULL);
    for (int i = below(5); i > 0; i--) add_random_workload(v);
    for (int i = below(5); i > 0; i--) {
        char flag[64];
        strcpy(flag, random_text());
        assert_true(kf_verdict_add_flag(v, "%s", flag));
    }
    if (below(2))
        v->build =
            cJSON_Parse("{\"log\":\"line\\nline\\t\",\"registers\":37,\"list\":[1,2.5,null,true]}");
    if (below(2)) v->counters = cJSON_Parse("{\"dram\":0.25}");
    if (below(2)) v->kernelbench = cJSON_Parse("{\"correctness\":true}");
    if (below(2)) v->provenance = cJSON_Parse("{\"keys\":[\"00ff\"]}");
    return v;
}

/* ---- equality, field by field ---------------------------------------------------------------- */

static bool same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}
static bool same_interval(kf_interval a, kf_interval b)
{
    return same_double(a.value, b.value) && same_double(a.low, b.low) &&
           same_double(a.high, b.high);
}

static bool same_findings(const kf_finding *a, size_t count, const kf_finding *b, size_t other)
{
    if (count != other) return false;
    for (size_t i = 0; i < count; i++)
        if (a[i].status != b[i].status || a[i].blame != b[i].blame ||
            strcmp(a[i].rule, b[i].rule) != 0 || strcmp(a[i].text, b[i].text) != 0 ||
            !same_double(a[i].measured, b[i].measured) || !same_double(a[i].limit, b[i].limit))
            return false;
    return true;
}

static bool same_figures(const kf_error_figures *a, const kf_error_figures *b)
{
    return same_double(a->rms, b->rms) && same_double(a->max, b->max) &&
           same_double(a->baseline_rms, b->baseline_rms) &&
           same_double(a->baseline_max, b->baseline_max) &&
           same_double(a->allowed_rms, b->allowed_rms) &&
           same_double(a->allowed_max, b->allowed_max) && a->compared == b->compared &&
           a->mismatched == b->mismatched && a->first_index == b->first_index &&
           same_double(a->first_expected, b->first_expected) &&
           same_double(a->first_got, b->first_got) && strcmp(a->pattern, b->pattern) == 0;
}

static bool same_sample(const kf_sample *a, const kf_sample *b)
{
    return a->side == b->side && a->pair == b->pair && a->calls == b->calls &&
           same_double(a->seconds, b->seconds) && same_double(a->claimed, b->claimed) &&
           same_double(a->clock_mhz, b->clock_mhz) && a->throttle == b->throttle;
}

static bool same_workload(const kf_workload_verdict *a, const kf_workload_verdict *b)
{
    if (strcmp(a->workload, b->workload) != 0 || a->timed != b->timed || a->status != b->status ||
        a->output_count != b->output_count || a->sample_count != b->sample_count ||
        a->sets != b->sets || a->pairs != b->pairs)
        return false;
    for (size_t i = 0; i < a->output_count; i++)
        if (strcmp(a->outputs[i].argument, b->outputs[i].argument) != 0 ||
            !same_figures(&a->outputs[i].figures, &b->outputs[i].figures))
            return false;
    for (size_t i = 0; i < a->sample_count; i++)
        if (!same_sample(&a->samples[i], &b->samples[i])) return false;
    return same_findings(a->findings, a->finding_count, b->findings, b->finding_count) &&
           same_interval(a->speedup, b->speedup) &&
           same_interval(a->latency_speedup, b->latency_speedup) &&
           same_double(a->baseline_seconds, b->baseline_seconds) &&
           same_double(a->candidate_seconds, b->candidate_seconds) &&
           same_double(a->latency_baseline_seconds, b->latency_baseline_seconds) &&
           same_double(a->latency_candidate_seconds, b->latency_candidate_seconds) &&
           same_double(a->batch_cost_seconds, b->batch_cost_seconds) &&
           same_double(a->floor_seconds, b->floor_seconds);
}

static bool same_carried(const cJSON *a, const cJSON *b)
{
    return (!a && !b) || cJSON_Compare(a, b, true);
}

static bool same_verdict(const kf_verdict *a, const kf_verdict *b)
{
    const char *const texts[][2] = {{a->id, b->id},
                                    {a->task, b->task},
                                    {a->task_hash, b->task_hash},
                                    {a->source_hash, b->source_hash},
                                    {a->binary_hash, b->binary_hash},
                                    {a->code_hash, b->code_hash},
                                    {a->device, b->device},
                                    {a->message, b->message}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i][0], texts[i][1]) != 0) return false;
    if (a->status != b->status || a->blame != b->blame || a->reverified != b->reverified ||
        a->workload_count != b->workload_count || a->flag_count != b->flag_count)
        return false;
    for (size_t i = 0; i < a->workload_count; i++)
        if (!same_workload(&a->workloads[i], &b->workloads[i])) return false;
    for (size_t i = 0; i < a->flag_count; i++)
        if (strcmp(a->flags[i], b->flags[i]) != 0) return false;
    return same_findings(a->findings, a->finding_count, b->findings, b->finding_count) &&
           same_interval(a->speedup, b->speedup) && same_carried(a->build, b->build) &&
           same_carried(a->counters, b->counters) && same_carried(a->kernelbench, b->kernelbench) &&
           same_carried(a->provenance, b->provenance) &&
           same_double(a->build_seconds, b->build_seconds) &&
           same_double(a->judge_seconds, b->judge_seconds);
}

static kf_verdict *through_text(const kf_verdict *v, kf_error *error)
{
    kf_auto(cJSON) json = kf_verdict_to_json(v);
    if (!json) return NULL;
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    if (!text) return NULL;
    kf_auto(cJSON) parsed = kf_json_parse(text, strlen(text), 0, "verdict", error);
    return parsed ? kf_verdict_from_json(parsed, error) : NULL;
}

static void json_round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        kf_auto(kf_verdict) v = random_verdict(seed);
        kf_error error = {0};
        kf_auto(kf_verdict) printed = through_text(v, &error);
        if (!printed) fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        if (!same_verdict(v, printed))
            fail_msg("seed %llu: differs after printing", (unsigned long long)seed);
        kf_auto(cJSON) json = kf_verdict_to_json(v);
        kf_auto(kf_verdict) direct = kf_verdict_from_json(json, NULL);
        if (!direct || !same_verdict(v, direct))
            fail_msg("seed %llu: differs without printing", (unsigned long long)seed);
        /* A verdict that was read can be extended. */
        for (size_t i = 0; i < direct->workload_count; i++) {
            kf_sample sample = {.side = 'n'};
            for (int k = 0; k < 5; k++)
                assert_true(kf_workload_add_sample(&direct->workloads[i], &sample));
        }
        for (int k = 0; k < 5; k++) assert_non_null(kf_verdict_add_workload(direct, "more", true));
    }
}

/* Readers outside kforge get null, and kforge reads it back as NaN. Texts stay. */
static void published_numbers_are_null(void **state)
{
    (void)state;
    kf_auto(kf_verdict) v = kf_verdict_new("1", "nan", "cpu:0");
    kf_workload_verdict *w = kf_verdict_add_workload(v, "inf", true);
    kf_verdict_add_finding(v, w, KF_CRASH, KF_BLAME_CANDIDATE, "runner.signal", INFINITY, NAN,
                           "nan");
    kf_sample sample = {'b', 0, 10, INFINITY, 0.5, 1980, 1};
    kf_workload_add_sample(w, &sample);
    kf_auto(cJSON) made = kf_verdict_to_json(v);
    kf_autofree char *exact = cJSON_PrintUnformatted(made);
    kf_auto(cJSON) json = cJSON_Parse(exact);
    kf_verdict_publish(json);
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    assert_non_null(strstr(text, "\"task\":\"nan\""));
    assert_non_null(strstr(text, "\"workload\":\"inf\""));
    assert_non_null(strstr(text, "\"text\":\"nan\",\"measured\":null,\"limit\":null"));
    assert_non_null(strstr(text, "\"seconds\":[null]"));
    assert_non_null(strstr(text, "\"speedup\":{\"value\":null,\"low\":null,\"high\":null}"));
    kf_error error = {0};
    kf_auto(kf_verdict) read = kf_verdict_from_json(json, &error);
    if (!read) fail_msg("%s", error.text);
    assert_true(isnan(read->workloads[0].findings[0].measured));
    assert_true(isnan(read->speedup.value));
    assert_string_equal(read->task, "nan");
}

static void reading_is_strict(void **state)
{
    (void)state;
    kf_auto(kf_verdict) v = kf_verdict_new("1", "axpy", "cpu:0");
    kf_workload_verdict *w = kf_verdict_add_workload(v, "main", true);
    kf_workload_add_output(w, "y");
    kf_verdict_add_finding(v, w, KF_CRASH, KF_BLAME_CANDIDATE, "runner.signal", NAN, NAN,
                           "signal 11");
    kf_sample sample = {'b', 0, 10, 0.5, 0.5, 1980, 1};
    kf_workload_add_sample(w, &sample);
    kf_verdict_add_flag(v, "flag");
    kf_auto(cJSON) json = kf_verdict_to_json(v);
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    const struct {
        const char *from, *to, *expected;
    } rows[] = {
        {"kforge-verdict/1", "kforge-verdict/2",
         "verdict: schema: \"kforge-verdict/2\" is not \"kforge-verdict/1\""},
        {"\"task\":", "\"tusk\":", "verdict: task: missing; expected a string"},
        {"\"reverified\":false", "\"reverified\":0",
         "verdict: reverified: expected true or false, found a number"},
        {"\"reverified\":false", "\"reverified\":false,\"extra\":1", "verdict: extra: unknown key"},
        {"\"sets\":0", "\"sets\":-1", "verdict: workloads[0].sets: -1 is out of range"},
        {"\"sets\":0", "\"sets\":0.5", "verdict: workloads[0].sets: expected an integer"},
        {"\"side\":\"b\"", "\"side\":\"x\"",
         "verdict: workloads[0].samples.side: expected a string of b, c, B, C, n and a"},
        {"\"side\":\"b\"", "\"side\":\"bb\"",
         "verdict: workloads[0].samples.pair: 1 entries for 2 samples"},
        {"\"seconds\":[0.5]", "\"seconds\":[\"fast\"]",
         "verdict: workloads[0].samples.seconds: entry 0 is not a number"},
        {"\"calls\":[10]", "\"calls\":[1e10]",
         "verdict: workloads[0].samples.calls: entry 0 is not an integer"},
        {"\"rule\":\"runner.signal\"", "\"rule\":7",
         "verdict: workloads[0].findings[0].rule: expected a string, found a number"},
        {"\"status\":\"crash\"", "\"status\":\"crashed\"",
         "verdict: workloads[0].findings[0].status: there is no status \"crashed\""},
        {"\"blame\":\"candidate\"", "\"blame\":\"me\"",
         "verdict: workloads[0].findings[0].blame: \"me\" cannot be blamed"},
        {"\"rms\":0", "\"rms\":true", "verdict: workloads[0].outputs[0].rms: expected a number"},
        {"\"pattern\":\"\"",
         "\"pattern\":\"0123456789012345678901234567890123456789012345678901234567890123\"",
         "pattern: longer than 63"},
        {"\"flags\":[\"flag\"]", "\"flags\":[[]]", "verdict: flags: entry 0 is not a string"},
        {"\"flags\":[\"flag\"]", "\"flags\":{}",
         "verdict: flags: expected an array, found an object"},
        {"\"speedup\":{\"value\"", "\"speedup\":{\"valu\"", "verdict: speedup.value: missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *at = strstr(text, rows[i].from);
        if (!at) fail_msg("%s is not in %s", rows[i].from, text);
        kf_autofree char *changed = calloc(1, strlen(text) + strlen(rows[i].to) + 1);
        sprintf(changed, "%.*s%s%s", (int)(at - text), text, rows[i].to, at + strlen(rows[i].from));
        kf_error error = {0};
        kf_auto(cJSON) parsed = kf_json_parse(changed, strlen(changed), 0, "verdict", &error);
        assert_non_null(parsed);
        kf_auto(kf_verdict) read = kf_verdict_from_json(parsed, &error);
        if (read || !strstr(error.text, rows[i].expected))
            fail_msg("\"%s\", expected \"%s\"", error.text, rows[i].expected);
        assert_int_equal(error.code, KF_ERROR_INPUT);
        assert_null(kf_verdict_from_json(parsed, NULL));
    }
    kf_auto(cJSON) list = cJSON_Parse("[]");
    assert_null(kf_verdict_from_json(list, NULL));
}

/* ---- conclusions ----------------------------------------------------------------------------- */

static void precedence(void **state)
{
    (void)state;
    kf_auto(kf_verdict) v = kf_verdict_new("1", "axpy", "cpu:0");
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_JUDGE_ERROR);
    assert_int_equal(v->blame, KF_BLAME_JUDGE);
    kf_verdict_add_workload(v, "main", true)->status = KF_CORRECT;
    kf_verdict_add_workload(v, "ragged", false);
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_JUDGE_ERROR);
    assert_non_null(strstr(v->message, "\"ragged\" was not judged"));
    v->workloads[1].status = KF_CORRECT;
    v->workloads[0].speedup = (kf_interval){1.5, 1.48, 1.52};
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_CORRECT);
    assert_int_equal(v->blame, KF_BLAME_NOBODY);
    assert_true(fabs(v->speedup.value - 1.5) < 1e-12); /* untimed workloads do not count */
    assert_string_equal(
        v->message, "correct; 1.5 times the baseline's speed (95 % interval 1.48 to 1.52: faster)");

    assert_non_null(kf_verdict_add_finding(v, &v->workloads[0], KF_CORRECT, KF_BLAME_NOBODY, "note",
                                           NAN, NAN, "a note"));
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_CORRECT);

    assert_non_null(kf_verdict_add_finding(v, &v->workloads[0], KF_INTERFERENCE, KF_BLAME_MACHINE,
                                           "baseline.drift", 0.05, 0.03, "drift"));
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_INTERFERENCE);
    assert_int_equal(v->blame, KF_BLAME_MACHINE);
    assert_true(isnan(v->speedup.value));
    assert_string_equal(
        v->message,
        "interference in workload \"main\": drift (the machine's fault, not the candidate's)");

    kf_output_check *output = kf_workload_add_output(&v->workloads[1], "y");
    output->figures = (kf_error_figures){.rms = 3,
                                         .allowed_rms = 1,
                                         .compared = 10,
                                         .mismatched = 2,
                                         .first_index = 8,
                                         .first_got = 7};
    strcpy(output->figures.pattern, "tail from 8");
    kf_verdict_conclude(v);
    kf_verdict_conclude(v); /* settling twice changes nothing */
    assert_int_equal(v->status, KF_WRONG_RESULT);
    assert_int_equal(v->blame, KF_BLAME_CANDIDATE);
    assert_int_equal(v->workloads[1].finding_count, 1);
    assert_string_equal(v->message, "wrong result in workload \"ragged\": output y: 2 of 10 "
                                    "elements are wrong (tail from 8); first at 8: "
                                    "expected 0, got 7 (and 1 more finding)");

    assert_non_null(kf_verdict_add_finding(v, NULL, KF_CRASH, KF_BLAME_CANDIDATE, "load", NAN, NAN,
                                           "died\nwhile loading"));
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_CRASH);
    assert_string_equal(v->message, "crash: died while loading (and 2 more findings)");
    assert_int_equal(v->workloads[0].status, KF_INTERFERENCE); /* each workload keeps its own */
    for (int status = KF_STATUS_COUNT - 1; status >= 0; status--) {
        kf_status parsed;
        assert_true(kf_status_parse(kf_status_name((kf_status)status), &parsed));
        assert_int_equal(parsed, status);
        if (status > KF_CRASH) continue;
        kf_verdict_add_finding(v, &v->workloads[0], (kf_status)status, KF_BLAME_TASK, "r", NAN, NAN,
                               "t");
        kf_verdict_conclude(v);
        assert_int_equal(v->status, status);
    }
}

static kf_workload_verdict *add_unseen(kf_verdict *v, const char *name, kf_unseen unseen)
{
    kf_workload_verdict *w = kf_verdict_add_workload(v, name, false);
    w->status = KF_CORRECT;
    w->unseen = unseen;
    return w;
}

/* Unseen workloads never decide, unless the candidate cheats there. */
static void generalisation(void **state)
{
    (void)state;
    kf_auto(kf_verdict) v = kf_verdict_new("1", "axpy", "cpu:0");
    kf_verdict_add_workload(v, "main", true)->status = KF_CORRECT;
    kf_verdict_conclude(v);
    kf_autofree char *without = kf_verdict_generalises(v, true);
    assert_string_equal(without, "");
    assert_int_equal(v->flag_count, 0);
    add_unseen(v, "odd", KF_UNSEEN_SIZES);
    add_unseen(v, "sparse", KF_UNSEEN_DATA);
    kf_verdict_conclude(v);
    assert_true(kf_verdict_has_flag(v, "sizes.generalise"));
    assert_true(kf_verdict_has_flag(v, "data.generalise"));
    assert_non_null(strstr(v->message, "; generalises: to other sizes; to other data"));

    kf_workload_verdict *ragged = add_unseen(v, "ragged", KF_UNSEEN_SIZES);
    kf_output_check *output = kf_workload_add_output(ragged, "y");
    output->figures = (kf_error_figures){.compared = 10, .mismatched = 2, .first_index = 3};
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_CORRECT);
    assert_int_equal(v->workloads[3].status, KF_WRONG_RESULT);
    assert_true(kf_verdict_has_flag(v, "sizes.given_only:ragged"));
    assert_false(kf_verdict_has_flag(v, "sizes.generalise"));
    kf_autofree char *words = kf_verdict_generalises(v, true);
    assert_string_equal(words, "not to other sizes (ragged); to other data");

    kf_autofree char *unnamed = kf_verdict_generalises(v, false);
    assert_string_equal(unnamed, "not to other sizes; to other data");

    /* A fault of the task there shows nothing about the candidate. */
    kf_workload_verdict *equal = add_unseen(v, "equal", KF_UNSEEN_DATA);
    kf_verdict_add_finding(v, equal, KF_JUDGE_ERROR, KF_BLAME_TASK, "baseline.wrong", NAN, NAN,
                           "x");
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_CORRECT);
    assert_true(kf_verdict_has_flag(v, "data.unjudged:equal"));
    assert_false(kf_verdict_has_flag(v, "data.generalise"));

    kf_auto(cJSON) json = kf_verdict_to_json(v);
    kf_error error = {0};
    kf_auto(kf_verdict) again = kf_verdict_from_json(json, &error);
    if (!again) fail_msg("%s", error.text);
    assert_int_equal(again->workloads[0].unseen, KF_GIVEN);
    assert_int_equal(again->workloads[3].unseen, KF_UNSEEN_SIZES);
    assert_int_equal(again->workloads[4].unseen, KF_UNSEEN_DATA);

    kf_verdict_add_finding(v, &v->workloads[3], KF_CHEATING, KF_BLAME_CANDIDATE, "calls.early", NAN,
                           NAN, "early");
    kf_verdict_conclude(v);
    assert_int_equal(v->status, KF_CHEATING);
    assert_non_null(strstr(v->message, "cheating in workload \"ragged\": early"));
    assert_null(strstr(v->message, "more finding"));
}

static void text_is_cleaned(void **state)
{
    (void)state;
    const struct {
        const char *bytes;
        size_t size;
        bool one_line;
        const char *expected;
    } rows[] = {
        {"a\0b", 3, false,
         "a\xef\xbf\xbd"
         "b"},
        {"\xff\xfe", 2, false, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc3", 1, false, "\xef\xbf\xbd"},
        {"\xed\xa0\x80", 3, false, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc3\xa9\n\t\x1b[31m\x7f", 10, false, "\xc3\xa9\n\t [31m "},
        {"a\nb\tc", 5, true, "a b c"},
        {"\xc2\x9b\xc2\xa0|\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8|\xe2\x82\xac\xf0\x9f\x98\x80", 22,
         false, " \xc2\xa0|   |\xe2\x82\xac\xf0\x9f\x98\x80"}, /* a terminal's CSI, right to left, a
                                                                  line's end; but not a euro */
        {"", 0, true, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_autofree char *text = kf_text_clean(rows[i].bytes, rows[i].size, rows[i].one_line);
        assert_string_equal(text, rows[i].expected);
    }
    /* The JSON is valid, whatever text a field was set to by hand. */
    kf_auto(kf_verdict) v = kf_verdict_new("\xff", "t\n", "cpu:0");
    free(v->device);
    v->device = strdup("\xc0\x80");
    v->build = cJSON_CreateObject();
    cJSON_AddStringToObject(v->build, "log\xfe", "error: \xf0\x28\x8c");
    kf_verdict_add_finding(v, NULL, KF_COMPILE_ERROR, KF_BLAME_CANDIDATE, "\x80", NAN, NAN, "%s",
                           "\xff\x01x");
    kf_error error = {0};
    kf_auto(kf_verdict) read = through_text(v, &error);
    if (!read) fail_msg("%s", error.text);
    assert_string_equal(read->findings[0].text, "\xef\xbf\xbd x");
    assert_string_equal(read->device, "\xef\xbf\xbd\xef\xbf\xbd");
    /* A finding of a megabyte is cut. */
    kf_autofree char *huge = malloc(1 << 20);
    memset(huge, 'x', (1 << 20) - 1);
    huge[(1 << 20) - 1] = '\0';
    assert_non_null(
        kf_verdict_add_finding(v, NULL, KF_CRASH, KF_BLAME_CANDIDATE, "r", NAN, NAN, "%s", huge));
    assert_in_range(strlen(v->findings[1].text), 1000, 10000);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool build_and_send(void)
{
    kf_auto(kf_verdict) v = kf_verdict_new("1", "axpy", "cpu:0");
    if (!v) return false;
    kf_workload_verdict *w = kf_verdict_add_workload(v, "main", true);
    if (!w) return false;
    w->status = KF_CORRECT;
    kf_output_check *output = kf_workload_add_output(w, "y");
    if (!output) return false;
    output->figures.mismatched = 1;
    kf_sample sample = {'c', 0, 1, 0.1, NAN, NAN, 0};
    for (int i = 0; i < 5; i++)
        if (!kf_workload_add_sample(w, &sample)) return false;
    if (!kf_verdict_add_finding(v, NULL, KF_IMPOSSIBLE, KF_BLAME_TASK, "floor", 1, 2,
                                "faster than %s", "light"))
        return false;
    if (!kf_verdict_add_flag(v, "f%d", 1) || !kf_verdict_add_flag(v, "f%d", 2)) return false;
    v->build = cJSON_CreateObject();
    if (!cJSON_AddStringToObject(v->build, "log", "\xff")) return false;
    kf_verdict_conclude(v);
    assert_true(v->status == KF_WRONG_RESULT || v->status == KF_IMPOSSIBLE);
    if (v->status != KF_WRONG_RESULT || !v->message[0]) return false;
    kf_error error = {0};
    kf_auto(cJSON) json = kf_verdict_to_json(v);
    if (!json) return false;
    kf_auto(kf_verdict) read = kf_verdict_from_json(json, &error);
    if (!read) assert_int_equal(error.code, KF_ERROR_MEMORY);
    return read != NULL;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    cJSON_Hooks hooks = {__wrap_malloc, __wrap_free};
    cJSON_InitHooks(&hooks);
    long limit = 0;
    for (bool done = false; !done; limit++) {
        assert_true(limit < 10000);
        long before = live_blocks;
        allocations_left = limit;
        done = build_and_send();
        allocations_left = -1;
        assert_int_equal(live_blocks, before);
    }
    cJSON_InitHooks(NULL);
    assert_in_range(limit, 100, 10000);
}

/* Counts jobs that the machine could not judge. Interference, a fault of the judge or of a
 * candidate, and known results do not count, and end the row. */
static void faults_of_the_machine_are_counted(void **state)
{
    (void)state;
    static const struct {
        kf_status status;
        kf_blame blame;
        const char *rule;
        bool fault;
    } rows[] = {
        {KF_JUDGE_ERROR, KF_BLAME_MACHINE, "judge.failed", true},
        {KF_JUDGE_ERROR, KF_BLAME_MACHINE, "build.failed", true},
        {KF_JUDGE_ERROR, KF_BLAME_MACHINE, "code.known", false},
        {KF_JUDGE_ERROR, KF_BLAME_MACHINE, "time.budget", false},
        {KF_JUDGE_ERROR, KF_BLAME_TASK, "task.build", false},
        {KF_INTERFERENCE, KF_BLAME_MACHINE, "interference", false},
        {KF_CRASH, KF_BLAME_CANDIDATE, "crash", false},
    };
    for (size_t k = 0; k < 2 * sizeof rows / sizeof *rows; k++) {
        size_t i = k / 2;
        kf_auto(kf_verdict) v = kf_verdict_new("job", "task", "cuda:1");
        kf_workload_verdict *workload = k % 2 ? kf_verdict_add_workload(v, "main", true) : NULL;
        kf_verdict_add_finding(v, workload, rows[i].status, rows[i].blame, rows[i].rule, NAN, NAN,
                               "no room");
        kf_verdict_conclude(v);
        assert_int_equal(kf_verdict_is_fault(v), rows[i].fault);
        int row = 4;
        kf_error error = {0};
        assert_true(kf_machine_failures_count(&row, 6, v, &error));
        assert_int_equal(row, rows[i].fault ? 5 : 0);
        assert_int_equal(kf_machine_failures_count(&row, 6, v, &error), !rows[i].fault);
        if (!rows[i].fault) continue;
        assert_int_equal(error.code, KF_ERROR_MACHINE);
        assert_non_null(
            strstr(error.text, "cuda:1: the machine failed 6 jobs in a row; the last: "));
        assert_non_null(strstr(error.text, "no room"));
    }
}

/* Verdicts of older judges that a signal, or too little memory, may have caused. */
static void old_labels_that_may_come_from_outside(void **state)
{
    (void)state;
    static const struct {
        kf_status status;
        kf_blame blame;
        const char *rule, *text, *flag;
        bool doubtful;
    } rows[] = {
        {KF_CHEATING, KF_BLAME_CANDIDATE, "runner.woken", "the process was made to run", "", true},
        {KF_CHEATING, KF_BLAME_CANDIDATE, "runner.woken", "the process was made to run",
         "machine.cleared:3", false},
        {KF_CHEATING, KF_BLAME_CANDIDATE, "protocol.forged", "an answer", "", false},
        {KF_COMPILE_ERROR, KF_BLAME_CANDIDATE, "build.failed",
         "g++: fatal error: Killed signal terminated program cc1plus", "", true},
        {KF_COMPILE_ERROR, KF_BLAME_CANDIDATE, "build.failed",
         "cc1plus: fatal error: PCH allocation failure", "", true},
        {KF_COMPILE_ERROR, KF_BLAME_CANDIDATE, "build.failed",
         "the build went over a limit: signal 9 (Killed)", "", true},
        {KF_COMPILE_ERROR, KF_BLAME_CANDIDATE, "build.failed", "candidate.cu:3:1: error: 'x'", "",
         false},
        {KF_JUDGE_ERROR, KF_BLAME_MACHINE, "build.failed",
         "g++: fatal error: Killed signal terminated program cc1plus", "", false},
        {KF_JUDGE_ERROR, KF_BLAME_TASK, "task.build",
         "the task's own oracle.cu does not build: g++: fatal error: Killed signal terminated "
         "program cc1plus",
         "", true},
        {KF_JUDGE_ERROR, KF_BLAME_TASK, "oracle.failed",
         "the task's oracle fails: the process ended while calling it: signal 9 (Killed)", "",
         true},
        {KF_JUDGE_ERROR, KF_BLAME_TASK, "oracle.failed",
         "the task's oracle fails: the process ended while calling it: signal 11 (Segmentation "
         "fault)",
         "", false},
        {KF_CRASH, KF_BLAME_CANDIDATE, "runner.crashed",
         "the process ended while calling it: signal 15 (Terminated)", "", true},
        {KF_CRASH, KF_BLAME_CANDIDATE, "runner.crashed",
         "the process ended while calling it: signal 11 (Segmentation fault)", "", false},
    };
    for (size_t k = 0; k < 2 * sizeof rows / sizeof *rows; k++) {
        size_t i = k / 2;
        kf_auto(kf_verdict) v = kf_verdict_new("job", "task", "cpu");
        kf_workload_verdict *workload = k % 2 ? kf_verdict_add_workload(v, "main", true) : NULL;
        kf_verdict_add_finding(v, workload, rows[i].status, rows[i].blame, rows[i].rule, NAN, NAN,
                               "%s", rows[i].text);
        if (*rows[i].flag) kf_verdict_add_flag(v, "%s", rows[i].flag);
        kf_verdict_conclude(v);
        assert_int_equal(kf_verdict_is_doubtful_old(v), rows[i].doubtful);
    }
    /* The reason is the first line with an error. The compiler's death may come later. */
    kf_auto(kf_verdict) v = kf_verdict_new("job", "task", "cpu");
    v->build = cJSON_CreateObject();
    cJSON_AddStringToObject(v->build, "log",
                            "x: error: y\ncollect2: fatal error: ld terminated "
                            "with signal 9 [Killed]\n");
    kf_verdict_add_finding(v, NULL, KF_COMPILE_ERROR, KF_BLAME_CANDIDATE, "build.failed", NAN, NAN,
                           "x: error: y");
    kf_verdict_conclude(v);
    assert_true(kf_verdict_is_doubtful_old(v));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_round_trips),
        cmocka_unit_test(published_numbers_are_null),
        cmocka_unit_test(reading_is_strict),
        cmocka_unit_test(precedence),
        cmocka_unit_test(generalisation),
        cmocka_unit_test(text_is_cleaned),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(faults_of_the_machine_are_counted),
        cmocka_unit_test(old_labels_that_may_come_from_outside),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
