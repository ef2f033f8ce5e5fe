/* Prints how the time of a verdict is spent: the device's operations, each wrapped by a clock, the
 * samples in order, and a timeline. On it, time between two operations (runners starting, batches)
 * shows as a gap. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_check.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/stats.h"

enum {
    BUILD,
    SETS_NEW,
    SETS_FREE,
    HAND_OVER,
    FILL,
    POISON,
    COOL,
    INSPECT,
    GLANCE,
    SETTLED,
    SURVEY,
    PREPARE,
    OUTPUT,
    SAMPLE,
    PLACE,
    COUNT
};
static const char *const names[COUNT] = {"build",  "sets_new", "sets_free", "hand_over", "fill",
                                         "poison", "cool",     "inspect",   "glance",    "settled",
                                         "survey", "prepare",  "output",    "sample",    "place"};
static double spent[COUNT];
static int calls[COUNT];
static const kf_device_operations *real;

#define MAX_MARKS 100000
static struct {
    int number;
    double at, took;
} marks[MAX_MARKS];
static size_t mark_count;

static void add(int number, double started)
{
    double took = kf_now() - started;
    spent[number] += took;
    calls[number]++;
    if (mark_count == MAX_MARKS) return;
    marks[mark_count].number = number;
    marks[mark_count].at = started;
    marks[mark_count++].took = took;
}

#define TIMED(number, call)    \
    double started = kf_now(); \
    __auto_type result = call; \
    add(number, started);      \
    return result

static bool build(kf_device *d, const kf_build_request *r, kf_build *b, kf_error *e)
{
    TIMED(BUILD, real->build(d, r, b, e));
}
static kf_sets *sets_new(kf_device *d, const kf_problem *p, uint32_t n, bool t, kf_error *e)
{
    TIMED(SETS_NEW, real->buffers.sets_new(d, p, n, t, e));
}
static void sets_free(kf_sets *s)
{
    double started = kf_now();
    real->buffers.sets_free(s);
    add(SETS_FREE, started);
}
static kf_runner_event hand_over(kf_sets *s, kf_runner *p, kf_role r)
{
    TIMED(HAND_OVER, real->buffers.hand_over(s, p, r));
}
static bool fill(kf_sets *s, uint64_t k, const kf_set_variation *v, kf_error *e)
{
    TIMED(FILL, real->buffers.fill(s, k, v, e));
}
static bool poison(kf_sets *s, kf_role r, uint64_t k, kf_error *e)
{
    TIMED(POISON, real->buffers.poison(s, r, k, e));
}
static void cache_flush(kf_sets *s, const uint32_t *l, uint32_t n)
{
    double started = kf_now();
    real->buffers.cache_flush(s, l, n);
    add(COOL, started);
}
static bool inspect(kf_sets *s, const bool *c, kf_damage *d, kf_error *e)
{
    TIMED(INSPECT, real->buffers.inspect(s, c, d, e));
}
static bool snapshot(kf_sets *s, const uint32_t *l, uint32_t n, kf_error *e)
{
    TIMED(GLANCE, real->buffers.snapshot(s, l, n, e));
}
static bool settled(kf_sets *s, kf_damage *d, kf_error *e)
{
    TIMED(SETTLED, real->buffers.settled(s, d, e));
}
static bool device_compare(kf_sets *s, const uint32_t *l, uint32_t n, kf_device_compare *v,
                           kf_error *e)
{
    TIMED(SURVEY, real->buffers.device_compare(s, l, n, v, e));
}
static bool prepare(kf_sets *s, const uint32_t *l, uint32_t n, kf_error *e)
{
    TIMED(PREPARE, real->buffers.prepare_truth(s, l, n, e));
}
static const void *output(kf_sets *s, uint32_t n, int a, kf_error *e)
{
    TIMED(OUTPUT, real->buffers.output(s, n, a, e));
}
static void sample(kf_device *d, kf_sample *s)
{
    double started = kf_now();
    real->sample(d, s);
    add(SAMPLE, started);
}
static bool place(kf_device *d, kf_runner_kind a, kf_runner_place *p, kf_error *e)
{
    TIMED(PLACE, real->place(d, a, p, e));
}

/* Prints the rare operations, each with the time before it that no operation took. */
static void print_line(double begin, double end)
{
    double before = begin;
    printf("   ");
    for (size_t i = 0; i < mark_count; i++) {
        int number = marks[i].number;
        bool rare = number == BUILD || number == SETS_NEW || number == SETS_FREE ||
                    number == HAND_OVER || number == PLACE;
        if (rare)
            printf(" %.3f(+%.3f) %s %.3f;", marks[i].at - begin, marks[i].at - before,
                   names[number], marks[i].took);
        if (rare) before = marks[i].at + marks[i].took;
    }
    printf(" %.3f(+%.3f) end\n", end - begin, end - before);
}

int profile(kf_judge *judge, const char *task_path, double seconds)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(task_path, &error);
    if (!task) return 1;
    kf_device_operations wrapped = *judge->device->operations;
    real = judge->device->operations;
    wrapped.build = build, wrapped.buffers.sets_new = sets_new,
    wrapped.buffers.sets_free = sets_free, wrapped.buffers.hand_over = hand_over,
    wrapped.buffers.fill = fill;
    wrapped.buffers.poison = poison, wrapped.buffers.cache_flush = cache_flush,
    wrapped.buffers.inspect = inspect, wrapped.buffers.snapshot = snapshot,
    wrapped.buffers.settled = settled;
    wrapped.buffers.device_compare = device_compare, wrapped.buffers.prepare_truth = prepare,
    wrapped.buffers.output = output, wrapped.sample = sample;
    wrapped.place = place;
    judge->device->operations = &wrapped;
    memset(spent, 0, sizeof spent);
    memset(calls, 0, sizeof calls);
    mark_count = 0;
    kf_job *job = kf_job_new("profile", task, kf_task_baseline(task)->text,
                             kf_task_baseline(task)->size, NULL, 0, &error);
    job->options.seconds = seconds;
    double started = kf_now(), batches = 0;
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    double wall = kf_now() - started, known = 0;
    judge->device->operations = real;
    printf("  %s: %s, wall %.2f s\n", task_path,
           verdict ? kf_status_name(verdict->status) : error.text, wall);
    for (size_t w = 0; verdict && w < verdict->workload_count; w++) {
        const kf_workload_verdict *v = &verdict->workloads[w];
        printf("   %s: %d sets, %d pairs, cost %.3f ms, baseline %.2f us, speedup %.4f [%.4f "
               "%.4f]\n   ",
               v->workload, v->sets, v->pairs, v->batch_cost_seconds * 1e3,
               v->baseline_seconds * 1e6, v->speedup.value, v->speedup.low, v->speedup.high);
        for (size_t i = 0; i < v->sample_count; i++) {
            const kf_sample *s = &v->samples[i];
            batches += s->seconds;
            printf(" %c%d:%.3f(%.3f)@%.0f", s->side, s->calls, s->seconds * 1e3, s->claimed * 1e3,
                   s->clock_mhz);
        }
        printf("\n");
    }
    for (int i = 0; i < COUNT; i++) {
        known += spent[i];
        if (calls[i]) printf("   %-10s %6d calls %8.3f s\n", names[i], calls[i], spent[i]);
    }
    print_line(started, started + wall);
    printf("   batches           %8.3f s\n   rest              %8.3f s\n", batches,
           wall - known - batches);
    kf_verdict_free(verdict);
    kf_job_free(job);
    return 0;
}
