/* Recorded and made-up timings give the figures that they have always given, to the last bit.
 *
 * tests/unit/data/timing_figures.txt holds them, one number a line, as "%a" writes it. After an
 * intended change of the rules write it anew, and review the difference:
 *     KFORGE_TEST_FREEZE=1 build/release/tests/test_timing_figures */
#include <cjson/cJSON.h>
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

#include "measure_internal.h"

#define DATA KFORGE_SOURCE_DIR "/tests/unit/data/"
#define FIGURES DATA "timing_figures.txt"
#define MAX_SAMPLES 400

/* ---- timings --------------------------------------------------------------------------------- */

/* The series of a measurement, by what was timed. */
enum {
    BATCHES_B,
    BATCHES_C,
    SINGLES_B,
    SINGLES_C,
    SOLO,
    SOLO_AFTER,
    EMPTY,
    EMPTY_CANDIDATE,
    OVERHEAD,
    EMPTY_AGAIN,
    IDLE_AGAIN,
    PRIMING_B,
    PRIMING_C,
    SERIES
};

typedef struct timings {
    char name[96];
    /* of whole batches, in the order measured */
    double seconds[SERIES][MAX_SAMPLES], waking[SERIES][MAX_SAMPLES];
    size_t count[SERIES];
    uint32_t calls[2], solo_calls;
    double wakings[2][KF_WAKINGS], idle_waking[KF_WAKINGS];
    size_t waking_count[2], idle_waking_count;
    double baseline_call, empty_batch;
    double floor, floor_later; /* seconds of a call, before and after a second look */
    kf_device device;
    kf_runner_kind kinds[3];
    bool idle, work_derived, unquiet;
} timings;

static timings *new_timings(const char *name)
{
    timings *t = calloc(1, sizeof *t);
    assert_non_null(t);
    snprintf(t->name, sizeof t->name, "%s", name);
    t->device = (kf_device){.floor_margin = 0.5};
    t->baseline_call = 100e-6;
    return t;
}

static void add(timings *t, int series, double seconds, double waking)
{
    assert_true(t->count[series] < MAX_SAMPLES);
    t->seconds[series][t->count[series]] = seconds;
    t->waking[series][t->count[series]++] = waking;
}

/* An H100 or H200 as device_cuda.c describes it. */
static void on_a_gpu(timings *t)
{
    t->device.slow_start = true;
    t->device.launch_bound = 20e-6;
    t->device.launch_bias = 0.4e-6;
    t->device.batch_bias = 5e-6;
    t->device.python_bias = 40e-6;
    t->device.python_cold = 100e-6;
    t->device.process_bias = 0.001;
    t->device.python_process_bias = 0.002;
    t->device.least_call = 0.5e-6;
}

static void on_a_processor(timings *t)
{
    t->device.calls_block = true;
    t->device.process_bias = 0.01;
    t->device.python_process_bias = 0.02;
}

/* ---- figures of one measurement -------------------------------------------------------------- */

static const timings *current;

static double floor_seconds(const kf_device *device, const kf_problem *problem)
{
    (void)problem;
    return device->major ? current->floor_later : current->floor;
}

static bool measure_ceilings(kf_device *device, kf_error *error)
{
    (void)error;
    device->major = 1; /* marks the second look */
    return true;
}

static const kf_device_operations operations = {
    .kind = "cpu", .floor_seconds = floor_seconds, .measure_ceilings = measure_ceilings};

static void fill_series(kf_timing_record *record, kf_series *series, int from, uint32_t calls)
{
    series->count = 0;
    for (size_t i = 0; i < current->count[from]; i++)
        kf_series_append(record, series, current->seconds[from][i], calls,
                         current->waking[from][i]);
}

bool __wrap_kf_measurement_solo(kf_measurement *r, uint32_t calls, kf_series *series,
                                kf_error *error);
bool __wrap_kf_measurement_solo(kf_measurement *r, uint32_t calls, kf_series *series,
                                kf_error *error)
{
    (void)error;
    fill_series(&r->record, series, SOLO_AFTER, calls);
    return true;
}

static void fill_record(kf_timing_record *record, const timings *t)
{
    assert_true(kf_timing_record_reserve(record, MAX_SAMPLES));
    for (int side = 0; side < 2; side++) {
        fill_series(record, &record->batches[side], BATCHES_B + side, t->calls[side]);
        fill_series(record, &record->singles[side], SINGLES_B + side, 1);
        fill_series(record, &record->primings[side], PRIMING_B + side, 1);
        record->calls[side] = t->calls[side];
        for (size_t i = 0; i < t->waking_count[side]; i++)
            kf_wakings_append(&record->wakings[side], t->wakings[side][i]);
    }
    for (size_t i = 0; i < t->idle_waking_count; i++)
        kf_wakings_append(&record->idle_wakings, t->idle_waking[i]);
    record->solo_calls = t->solo_calls;
    fill_series(record, &record->solo, SOLO, t->solo_calls);
    fill_series(record, &record->empty, EMPTY, 1);
    fill_series(record, &record->empty_candidate, EMPTY_CANDIDATE, 1);
    fill_series(record, &record->overhead, OVERHEAD, 1);
    fill_series(record, &record->empty_again, EMPTY_AGAIN, 1);
    fill_series(record, &record->idle_again, IDLE_AGAIN, 1);
}

static bool is_stale(const kf_measurement *r)
{
    return r->history.stale;
}

static void put(FILE *out, const char *name, double value)
{
    if (isnan(value))
        fprintf(out, "  %s nan\n", name); /* "%a" may write a sign */
    else
        fprintf(out, "  %s %a\n", name, value);
}

static void put_interval(FILE *out, const char *name, kf_interval interval)
{
    char label[64];
    snprintf(label, sizeof label, "%s.value", name);
    put(out, label, interval.value);
    snprintf(label, sizeof label, "%s.low", name);
    put(out, label, interval.low);
    snprintf(label, sizeof label, "%s.high", name);
    put(out, label, interval.high);
}

/* Writes all figures of these timings, and releases them. */
static void conclude(FILE *out, timings *t)
{
    kf_problem problem = {.work_bytes_derived = t->work_derived};
    kf_verdict *verdict = kf_verdict_new("id", "task", "cpu");
    kf_workbench bench = {.device = &t->device,
                          .problem = &problem,
                          .verdict = verdict,
                          .result = kf_verdict_add_workload(verdict, "main", true)};
    memcpy(bench.kinds, t->kinds, sizeof t->kinds);
    /* Alone after the pairs it is about the same as before, unless the timings say otherwise. */
    for (size_t k = 0; k < t->count[SOLO] && t->count[SOLO_AFTER] <= k; k++)
        add(t, SOLO_AFTER, t->seconds[SOLO][k] * 1.002, t->waking[SOLO][k]);
    t->device.operations = &operations;
    kf_measurement r = {.bench = &bench, .device = &operations};
    kf_error error = {0};
    current = t;
    fill_record(&r.record, t);
    r.schedule.baseline_call = t->baseline_call;
    r.schedule.empty_batch = t->empty_batch;
    r.settling.given_up = t->unquiet;
    if (t->idle) r.idle = (kf_runner *)t; /* no function uses it here */
    if (!kf_measurement_conclude(&r, &error)) fail_msg("%s: %s", t->name, error.text);
    const kf_workload_verdict *w = bench.result;
    fprintf(out, "%s\n", t->name);
    put_interval(out, "speedup", w->speedup);
    put(out, "baseline_seconds", w->baseline_seconds);
    put(out, "candidate_seconds", w->candidate_seconds);
    put_interval(out, "latency_speedup", w->latency_speedup);
    put(out, "latency_baseline_seconds", w->latency_baseline_seconds);
    put(out, "latency_candidate_seconds", w->latency_candidate_seconds);
    put(out, "batch_cost_seconds", w->batch_cost_seconds);
    put(out, "floor_seconds", w->floor_seconds);
    put(out, "stale", is_stale(&r));
    for (size_t i = 0; i < w->finding_count; i++) {
        fprintf(out, "  finding %s\n", w->findings[i].rule);
        put(out, "measured", w->findings[i].measured);
        put(out, "limit", w->findings[i].limit);
    }
    for (size_t i = 0; i < verdict->flag_count; i++) fprintf(out, "  flag %s\n", verdict->flags[i]);
    kf_timing_record_free(&r.record);
    kf_verdict_free(verdict);
    free(t);
}

/* ---- recorded timings ------------------------------------------------------------------------ */

static char *read_text(const char *path)
{
    size_t size;
    kf_error error = {0};
    char *text = kf_file_read(path, 1 << 22, &size, &error);
    if (!text) fail_msg("%s: %s", path, error.text);
    return text;
}

static const struct {
    const char *name;
    int series;
} recorded_names[] = {{"b", BATCHES_B},        {"c", BATCHES_C}, {"b_single", SINGLES_B},
                      {"c_single", SINGLES_C}, {"n", EMPTY},     {"a", SOLO}};

static timings *from_json(const cJSON *line, const char *name)
{
    timings *t = new_timings(name);
    on_a_gpu(t);
    for (size_t i = 0; i < sizeof recorded_names / sizeof *recorded_names; i++) {
        char waking[32];
        snprintf(waking, sizeof waking, "%s_woken", recorded_names[i].name);
        const cJSON *seconds = cJSON_GetObjectItem(line, recorded_names[i].name),
                    *wakings = cJSON_GetObjectItem(line, waking);
        for (int k = 0; k < cJSON_GetArraySize(seconds); k++)
            add(t, recorded_names[i].series, cJSON_GetArrayItem(seconds, k)->valuedouble * 1e-6,
                cJSON_GetArrayItem(wakings, k)->valuedouble * 1e-6);
    }
    /* A batch of one call is its own latency. */
    for (int side = 0; side < 2; side++) {
        t->calls[side] =
            (uint32_t)cJSON_GetArrayItem(cJSON_GetObjectItem(line, "calls"), side)->valuedouble;
        for (size_t k = 0; k < t->count[BATCHES_B + side]; k++)
            if (t->waking_count[side] < KF_WAKINGS)
                t->wakings[side][t->waking_count[side]++] = t->waking[BATCHES_B + side][k];
    }
    t->solo_calls = (uint32_t)cJSON_GetObjectItem(line, "alone_calls")->valuedouble;
    t->baseline_call = t->seconds[BATCHES_B][0] / t->calls[0];
    t->empty_batch = t->seconds[EMPTY][0];
    return t;
}

/* The same timings where another rule applies. */
static void conclude_variants(FILE *out, const cJSON *line, const char *name)
{
    static const char *const variants[] = {"gpu", "processor", "python", "other kind"};
    for (int v = 0; v < 4; v++) {
        char label[96];
        snprintf(label, sizeof label, "%s %s", name, variants[v]);
        timings *t = from_json(line, label);
        if (v == 1) {
            t->device = (kf_device){.floor_margin = 0.5};
            on_a_processor(t);
            for (size_t k = 0; k < t->count[BATCHES_B]; k++)
                add(t, OVERHEAD, 0.00005 + 1e-6 * (double)(k % 7), t->waking[BATCHES_B][k]);
        }
        if (v == 2) t->kinds[KF_ROLE_CANDIDATE] = t->kinds[KF_ROLE_BASELINE] = KF_RUNNER_TORCH;
        if (v == 3) t->kinds[KF_ROLE_CANDIDATE] = KF_RUNNER_TORCH, t->idle = true;
        if (v >= 2)
            for (size_t k = 0; k < t->count[EMPTY]; k++) {
                add(t, EMPTY_CANDIDATE, t->seconds[EMPTY][k] * 1.2, t->waking[EMPTY][k]);
                add(t, EMPTY_AGAIN, t->seconds[EMPTY][k] * 0.9, t->waking[EMPTY][k]);
                if (v == 3 && k < KF_WAKINGS)
                    t->idle_waking[t->idle_waking_count++] = t->waking[EMPTY][k] * 0.8;
                if (v == 3) add(t, IDLE_AGAIN, t->seconds[EMPTY][k] * 1.1, t->waking[EMPTY][k]);
            }
        for (size_t k = 0; k < t->count[BATCHES_B] && v >= 2; k++) {
            /* their seconds are of one call */
            add(t, PRIMING_B, t->seconds[BATCHES_B][k] / t->calls[0] + 400e-6, 0);
            add(t, PRIMING_C, t->seconds[BATCHES_C][k] / t->calls[1] + 900e-6 + 1e-6 * (double)k,
                0);
        }
        conclude(out, t);
    }
}

static void conclude_recorded_lines(FILE *out, const char *file)
{
    char path[256], name[64];
    snprintf(path, sizeof path, "%srecorded/%s.jsonl", DATA, file);
    char *text = read_text(path), *next = text;
    int number = 0;
    for (char *line = strsep(&next, "\n"); line; line = strsep(&next, "\n")) {
        if (!*line) continue;
        cJSON *json = cJSON_Parse(line);
        assert_non_null(json);
        snprintf(name, sizeof name, "%s:%d", file, ++number);
        conclude_variants(out, json, name);
        cJSON_Delete(json);
    }
    assert_true(number > 0);
    free(text);
}

static void conclude_recorded_verdict(FILE *out, const char *file)
{
    char path[256], name[96];
    snprintf(path, sizeof path, "%srecorded/%s.verdict.json", DATA, file);
    char *text = read_text(path);
    cJSON *json = cJSON_Parse(text);
    kf_error error = {0};
    kf_verdict *verdict = kf_verdict_from_json(json, &error);
    if (!verdict) fail_msg("%s: %s", path, error.text);
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (!w->timed) continue;
        snprintf(name, sizeof name, "%s %s", file, w->workload);
        timings *t = new_timings(name);
        on_a_gpu(t);
        t->floor = t->floor_later = w->floor_seconds;
        static const char letters[] = "bcBCan";
        static const int series[] = {BATCHES_B, BATCHES_C, SINGLES_B, SINGLES_C, SOLO, EMPTY};
        for (size_t k = 0; k < w->sample_count; k++) {
            const kf_sample *s = &w->samples[k];
            const char *letter = strchr(letters, s->side);
            bool outside = s->pair < 0 && s->side != 'a' && s->side != 'n';
            if (!letter || outside) continue;
            if (s->side == 'a' && t->count[SOLO] == 7) { /* the second turn */
                add(t, SOLO_AFTER, s->seconds, 40e-6);
                continue;
            }
            add(t, series[letter - letters], s->seconds, 40e-6 + 1e-6 * (double)(k % 5));
            if (s->side == 'b') t->calls[0] = (uint32_t)s->calls;
            if (s->side == 'c') t->calls[1] = (uint32_t)s->calls;
            if (s->side == 'a') t->solo_calls = (uint32_t)s->calls;
        }
        conclude(out, t);
    }
    kf_verdict_free(verdict);
    cJSON_Delete(json);
    free(text);
}

/* ---- made-up timings ------------------------------------------------------------------------- */

static uint64_t state;

static double noise(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

#define PAIRS 24
#define CALLS 10

/* Batches with 0.2 ms of fixed cost and 1 % of noise. */
static timings *made(const char *name, double baseline, double candidate)
{
    timings *t = new_timings(name);
    state = 20261126;
    t->calls[0] = t->calls[1] = t->solo_calls = CALLS;
    t->empty_batch = 0.0002;
    t->baseline_call = baseline;
    for (int i = 0; i < PAIRS; i++) {
        add(t, BATCHES_B, CALLS * baseline * (1 + 0.01 * noise()) + 0.0002, 50e-6 + 5e-6 * noise());
        add(t, BATCHES_C, CALLS * candidate * (1 + 0.01 * noise()) + 0.0002,
            50e-6 + 5e-6 * noise());
        if (i < 8) {
            add(t, SINGLES_B, baseline * (1 + 0.01 * noise()) + 0.0002, 40e-6 + 5e-6 * noise());
            add(t, SINGLES_C, candidate * (1 + 0.01 * noise()) + 0.0002, 40e-6 + 5e-6 * noise());
        }
        for (int k = 0; k < 2; k++) add(t, EMPTY, 0.0002 + 2e-6 * noise(), 50e-6 + 8e-6 * noise());
    }
    for (int i = 0; i < KF_SOLO_BATCHES; i++)
        add(t, SOLO, CALLS * baseline * (1 + 0.01 * noise()) + 0.0002, 50e-6 + 5e-6 * noise());
    for (int side = 0; side < 2; side++)
        while (t->waking_count[side] < KF_WAKINGS)
            t->wakings[side][t->waking_count[side]++] = 50e-6 + 5e-6 * noise();
    for (int i = 0; i < KF_WAKINGS; i++) noise(); /* as when the series were recorded */
    return t;
}

static void shift(timings *t, int series, double seconds, double waking)
{
    for (size_t k = 0; k < t->count[series]; k++) {
        t->seconds[series][k] += seconds;
        t->waking[series][k] += waking;
    }
}

static void scale(timings *t, int series, double factor)
{
    for (size_t k = 0; k < t->count[series]; k++) t->seconds[series][k] *= factor;
}

static void conclude_made_up(FILE *out)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        void (*place)(timings *) = gpu ? on_a_gpu : on_a_processor;
        char name[64];
#define MADE(words, baseline, candidate)                                         \
    snprintf(name, sizeof name, "%s on a %s", words, gpu ? "gpu" : "processor"); \
    t = made(name, baseline, candidate);                                         \
    place(t)
        timings *t;
        MADE("plain", 0.002, 0.001);
        conclude(out, t);
        MADE("short calls", 6e-6, 4e-6);
        conclude(out, t);
        MADE("outliers", 0.002, 0.001);
        for (size_t k = 0; k < PAIRS; k += 5) t->seconds[BATCHES_B + k % 2][k] *= 7;
        conclude(out, t);
        MADE("drift", 0.0002, 0.0002);
        for (size_t k = 0; k < PAIRS; k++)
            t->seconds[BATCHES_B][k] *= 1 + 0.01 * (double)k,
                t->seconds[BATCHES_C][k] *= 1 + 0.01 * (double)k;
        conclude(out, t);
        MADE("empty batches of a busy machine", 0.002, 0.0001);
        for (size_t k = 0; k < t->count[EMPTY]; k++) t->seconds[EMPTY][k] += k % 3 ? 0.005 : 0;
        conclude(out, t);
        MADE("no empty batches", 0.002, 0.001);
        t->count[EMPTY] = 0;
        conclude(out, t);
        MADE("few pairs", 0.002, 0.001);
        t->count[BATCHES_B] = t->count[BATCHES_C] = 5;
        t->count[SINGLES_B] = t->count[SINGLES_C] = 0;
        conclude(out, t);
        MADE("late wakings of the candidate", 0.002, 0.0001);
        shift(t, BATCHES_C, 0, 0.0003), shift(t, SINGLES_C, 0, 0.0002);
        conclude(out, t);
        MADE("late wakings of all", 0.002, 0.0002);
        for (int s = 0; s < SERIES; s++)
            for (size_t k = 0; k < t->count[s]; k += 2) t->waking[s][k] += 1e-4;
        conclude(out, t);
        MADE("early work", 0.002, 0.0001);
        for (int k = 0; k < KF_WAKINGS; k++) t->wakings[1][k] += 0.004;
        conclude(out, t);
        MADE("early work beside another kind", 0.002, 0.0001);
        for (int k = 0; k < KF_WAKINGS; k++) t->wakings[1][k] += 0.004;
        t->idle = true, t->kinds[KF_ROLE_CANDIDATE] = KF_RUNNER_TORCH;
        conclude(out, t);
        MADE("overhead of batches", 0.002, 0.0001);
        for (size_t k = 0; k < PAIRS; k++) add(t, OVERHEAD, 0.00024 + 1e-6 * noise(), 50e-6);
        conclude(out, t);
        MADE("slowed a little", 0.00102, 0.00101);
        scale(t, SOLO, 1 / 1.02);
        conclude(out, t);
        MADE("disturbed", 0.002, 0.001);
        scale(t, SOLO, 1 / 1.3);
        for (size_t k = 0; k < KF_SOLO_BATCHES; k++)
            add(t, SOLO_AFTER, t->seconds[SOLO][k] * 1.001, 60e-6);
        conclude(out, t);
        MADE("disturbed before alone", 0.002, 0.001);
        scale(t, SOLO, 1 / 1.3);
        for (size_t k = 0; k < KF_SOLO_BATCHES; k++)
            add(t, SOLO_AFTER, t->seconds[SOLO][k] * 1.28, 60e-6);
        conclude(out, t);
        MADE("another baseline than alone", 0.002, 0.001);
        scale(t, SOLO, 1.05);
        conclude(out, t);
        MADE("other calls than alone", 0.002, 0.001);
        scale(t, SOLO, 1 / 1.3), t->solo_calls = 5;
        conclude(out, t);
        MADE("merged calls", 0.0001, 0.00002);
        shift(t, SINGLES_C, 3e-3, 0);
        conclude(out, t);
        MADE("under the floor", 0.002, 0.0001);
        t->floor = t->floor_later = 0.001;
        conclude(out, t);
        MADE("under the floor at first", 0.002, 0.0001);
        t->floor = 0.001, t->floor_later = 0.0001;
        conclude(out, t);
        MADE("derived work", 0.002, 0.0001);
        t->floor = t->floor_later = 0.001, t->work_derived = true;
        conclude(out, t);
        MADE("under a launch", 4e-6, 0.1e-6);
        t->device.least_call = 0.5e-6;
        conclude(out, t);
        MADE("less than nothing", 0.00004, 0.00002);
        shift(t, EMPTY, 0.0005, 0);
        t->floor = t->floor_later = 0.001;
        conclude(out, t);
        MADE("slow single calls", 0.002, 0.0002);
        shift(t, SINGLES_C, 0.002, 0);
        conclude(out, t);
        MADE("memory that does not settle", 0.002, 0.001);
        t->unquiet = true;
        conclude(out, t);
        for (int kinds = 0; kinds < 3; kinds++) {
            static const char *const words[] = {"primed both", "primed candidate",
                                                "primed baseline"};
            MADE(words[kinds], 0.0008, 0.0006);
            if (kinds != 2) t->kinds[KF_ROLE_CANDIDATE] = KF_RUNNER_TORCH;
            if (kinds != 1) t->kinds[KF_ROLE_BASELINE] = KF_RUNNER_TORCH;
            t->idle = kinds > 0;
            for (size_t k = 0; k < PAIRS; k++) {
                add(t, PRIMING_B, 0.0008 + 0.0004 * noise(), 0);
                add(t, PRIMING_C, 0.0006 + 0.0016 * noise(), 0);
                add(t, EMPTY_CANDIDATE, 0.00035 + 5e-6 * noise(), 80e-6 + 9e-6 * noise());
                add(t, EMPTY_AGAIN, 0.00018 + 2e-6 * noise(), 45e-6 + 9e-6 * noise());
                add(t, IDLE_AGAIN, 0.0003 + 4e-6 * noise(), 70e-6 + 9e-6 * noise());
                if (t->idle) t->idle_waking[t->idle_waking_count++] = 75e-6 + 9e-6 * noise();
            }
            conclude(out, t);
            MADE(words[kinds], 0.03, 0.025); /* too long for a priming call */
            t->kinds[KF_ROLE_CANDIDATE] = KF_RUNNER_TORCH;
            conclude(out, t);
        }
#undef MADE
    }
}

/* ---- the test -------------------------------------------------------------------------------- */

static void figures_are_as_they_were(void **unused)
{
    (void)unused;
#ifndef __x86_64__
    skip(); /* the last bits depend on the processor: some fuse a multiplication and an addition */
#endif
    char *now = NULL;
    size_t size;
    FILE *out = open_memstream(&now, &size);
    assert_non_null(out);
    conclude_recorded_lines(out, "h200-candidates");
    conclude_recorded_lines(out, "h200-same");
    conclude_recorded_lines(out, "h200-drift");
    conclude_recorded_verdict(out, "h100-gemm");
    conclude_recorded_verdict(out, "h100-histogram");
    conclude_recorded_verdict(out, "h200-histogram");
    conclude_made_up(out);
    fclose(out);
    if (getenv("KFORGE_TEST_FREEZE")) {
        FILE *file = fopen(FIGURES, "w");
        assert_non_null(file);
        fputs(now, file);
        fclose(file);
    }
    char *before = read_text(FIGURES);
    int line = 1;
    for (size_t i = 0; before[i] || now[i]; i++) {
        if (before[i] != now[i]) fail_msg("%s:%d: other figures: %.80s", FIGURES, line, now + i);
        line += now[i] == '\n';
    }
    free(before);
    free(now);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(figures_are_as_they_were)};
    return TEST_GROUP(tests, NULL, NULL);
}
