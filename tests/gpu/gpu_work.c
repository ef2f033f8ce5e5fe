/* Compares the judge's own work on buffers with the bandwidth of a copy: fresh inputs, poison,
 * inspection, truth and comparison of a task's first workload. The work lies between any two
 * batches, so it decides how many candidates a second can be judged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_cuda.h"
#include "gpu_check.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/stats.h"

#define SETS_BYTES (6.0e9)
#define MAX_SETS 200
#define TIMES 7

typedef struct bench {
    kf_device *device;
    kf_problem *problem;
    kf_sets *sets;
    kf_set_variation variations[MAX_SETS];
    bool chosen[MAX_SETS];
    uint32_t list[MAX_SETS], count;
    kf_device_compare *comparisons;
} bench;

typedef enum work { FILL, POISON, INSPECT, TRUTH, SURVEY, WORKS } work;
static const char *const names[WORKS] = {"fill", "poison", "inspect", "truth", "compare"};

static bool run(bench *b, work what, int turn, kf_error *error)
{
    const kf_device_operations *o = b->device->operations;
    kf_damage damage;
    switch (what) {
    case FILL: return o->buffers.fill(b->sets, (uint64_t)turn + 1, b->variations, error);
    case POISON: return o->buffers.poison(b->sets, KF_ROLE_BASELINE, (uint64_t)turn + 100, error);
    case INSPECT: return o->buffers.inspect(b->sets, b->chosen, &damage, error);
    case TRUTH: return o->buffers.prepare_truth(b->sets, b->list, b->count, error);
    default: return o->buffers.device_compare(b->sets, b->list, b->count, b->comparisons, error);
    }
}

/* Bytes that it has to read and write at the least. */
static double bytes_of(const bench *b, work what)
{
    double all = 0;
    for (int i = 0; i < b->problem->argument_count; i++) {
        const kf_problem_argument *a = &b->problem->arguments[i];
        double bytes = (double)a->bytes,
               wide = kf_dtype_is_float(a->dtype) ? 8.0 * (double)a->elements : bytes;
        bool input = a->kind == KF_INPUT, written = a->kind == KF_OUTPUT || a->kind == KF_INOUT;
        if (what == FILL && input) all += 2 * bytes; /* and its digest */
        if (what == POISON && written) all += a->kind == KF_INOUT ? 2 * bytes : bytes;
        if (what == INSPECT && (input || written)) all += input ? bytes : bytes / 8;
        if (what == TRUTH && written) all += wide;
        if (what == SURVEY && written) all += bytes + wide;
    }
    return all * b->count;
}

static int measure(bench *b, double copying, kf_error *error)
{
    for (work what = 0; what < WORKS; what++) {
        double seconds[TIMES];
        for (int turn = -1; turn < TIMES; turn++) {
            double began = kf_now();
            if (!run(b, what, turn + 1, error))
                return printf("  %s: %s\n", names[what], error->text), 1;
            if (turn >= 0) seconds[turn] = kf_now() - began;
        }
        double median = kf_median(seconds, TIMES), rate = bytes_of(b, what) / median;
        printf("   %-8s %8.3f ms  %6.0f GB/s, %3.0f %% of copying\n", names[what], 1e3 * median,
               rate * 1e-9, 100 * rate / copying);
    }
    return 0;
}

int check_work(kf_judge *judge, const char *task_path)
{
    kf_error error = {0};
    bool applies = false;
    kf_task *task = kf_task_load(task_path, &error);
    kf_autofree bench *b = calloc(1, sizeof *b);
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    int bad = 1;
    if (!task || !b || !problem || !kf_task_resolve(task, 0, "cuda", problem, &applies, &error))
        return printf("  %s\n", error.text), 1;
    *b = (bench){.device = judge->device, .problem = problem};
    double room = SETS_BYTES / (double)(problem->total_bytes + 1);
    b->count = room > MAX_SETS ? MAX_SETS : room < 3 ? 3 : (uint32_t)room;
    b->comparisons =
        calloc((size_t)b->count * (size_t)problem->argument_count, sizeof *b->comparisons);
    for (uint32_t i = 0; i < b->count; i++) {
        b->list[i] = i;
        b->chosen[i] = i % 8 != 0;
        b->variations[i] = (kf_set_variation){.argument = -1};
        int argument = (int)(i / 2 % (uint32_t)problem->argument_count),
            kind = (int)(i / 4 % KF_VARIATION_COUNT);
        if (i % 2 && kf_variation_applies(&problem->arguments[argument], (kf_variation)kind))
            b->variations[i] = (kf_set_variation){argument, (kf_variation)kind};
    }
    b->sets = b->device->operations->buffers.sets_new(b->device, problem, b->count, true, &error);
    printf("  %s, %s: %u sets of %.1f MB\n", kf_task_name(task), problem->workload, b->count,
           (double)problem->total_bytes * 1e-6);
    if (b->sets && b->comparisons)
        bad = measure(b, ((kf_cuda_device *)judge->device)->bandwidth.copy, &error);
    else
        printf("  %s\n", error.text);
    b->device->operations->buffers.sets_free(b->sets);
    free(b->comparisons);
    kf_task_free(task);
    return bad;
}
