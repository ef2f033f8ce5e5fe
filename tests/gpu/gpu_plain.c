/* See gpu_plain.h. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffers_cuda.h"
#include "cuda_calls.h"
#include "gpu_plain.h"
#include "judge_internal.h"
#include "kforge/stats.h"

#define BATCH_SECONDS 0.03
#define ROUNDS 3
#define MAX_SETS 48
#define VARIED_SETS 16

static double batch(kf_cuda_device *gpu, kf_cuda_sets *sets, plain_entry entry,
                    const uint64_t *scalars, const kf_problem *problem, uint32_t calls)
{
    cu_event events[2];
    float milliseconds = 0;
    uint32_t set = 0;
    for (int i = 0; i < 2; i++) gpu->cuda.event_create(&events[i], CU_EVENT_DEFAULT);
    gpu->cuda.event_record(events[0], gpu->stream);
    for (uint32_t i = 0; i < calls; i++) {
        void *pointers[KF_MAX_ARGUMENTS] = {0};
        for (int a = 0; a < problem->argument_count; a++)
            if (problem->arguments[a].kind != KF_SCALAR)
                pointers[a] = (void *)(uintptr_t)kf_cuda_address(
                    sets, &sets->buffers[set * (uint32_t)problem->argument_count + (uint32_t)a]);
        entry(pointers, scalars, gpu->stream);
        set = (set + 1) % sets->count;
    }
    gpu->cuda.event_record(events[1], gpu->stream);
    gpu->cuda.stream_synchronize(gpu->stream);
    gpu->cuda.event_elapsed(&milliseconds, events[0], events[1]);
    for (int i = 0; i < 2; i++) gpu->cuda.event_destroy(events[i]);
    return milliseconds * 1e-3 / calls;
}

/* Every other set in one of the ways in which the judge varies inputs: some code takes longer on
 * some. */
static void vary(const kf_problem *problem, kf_set_variation variations[MAX_SETS])
{
    kf_set_variation cards[KF_MAX_ARGUMENTS];
    int count = 0;
    bool absolute = false;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *a = &problem->arguments[i];
        if (a->kind == KF_OUTPUT || a->kind == KF_INOUT)
            absolute = absolute ||
                       ((a->tolerance.kind == KF_ALLCLOSE || a->tolerance.kind == KF_ANY_ORDER) &&
                        a->tolerance.atol > 0);
        for (int v = KF_VARY_NONE + 1;
             v < KF_VARIATION_COUNT && (a->kind == KF_INPUT || a->kind == KF_INOUT) &&
             count < KF_MAX_ARGUMENTS;
             v++)
            if (kf_variation_applies(a, (kf_variation)v))
                cards[count++] = (kf_set_variation){i, (kf_variation)v};
    }
    for (int k = 0; k < MAX_SETS; k++)
        variations[k] = k % 2 && count && !absolute ? cards[k / 2 % count]
                                                    : (kf_set_variation){-1, KF_VARY_NONE};
}

plain_entry plain_load(const char *binary)
{
    void *library = dlopen(binary, RTLD_NOW | RTLD_LOCAL),
         *symbol = library ? dlsym(library, "kforge_entry") : NULL;
    plain_entry entry = NULL;
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

double plain_seconds(kf_judge *judge, plain_entry entry, const kf_problem *problem, double call)
{
    kf_device *device = judge->device;
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    kf_error error = {0};
    uint64_t scalars[KF_MAX_ARGUMENTS];
    double rounds[ROUNDS], room = (double)device->set_bytes / (double)(problem->total_bytes + 1);
    uint32_t count = (uint32_t)fmax(
        fmin(fmin(room, MAX_SETS), fmax(VARIED_SETS, 4.0 * (double)gpu->properties.l2_bytes /
                                                         (double)problem->total_bytes)),
        3);
    kf_set_variation variations[MAX_SETS];
    vary(problem, variations);
    kf_problem_scalars(problem, scalars);
    kf_sets *sets = device->operations->buffers.sets_new(device, problem, count, false, &error);
    if (!sets || !device->operations->buffers.fill(sets, 1, variations, &error) ||
        !device->operations->buffers.poison(sets, KF_ROLE_BASELINE, 2, &error) ||
        !kf_cuda_wait(gpu, "filling", &error)) {
        printf("  %s\n", error.text);
        if (sets) device->operations->buffers.sets_free(sets);
        return NAN;
    }
    uint32_t calls = (uint32_t)fmax(ceil(BATCH_SECONDS / call), 2);
    batch(gpu, (kf_cuda_sets *)sets, entry, scalars, problem,
          calls < 4096 ? 4096 / calls * calls > 4 * calls ? 4 * calls : calls : calls);
    for (int i = 0; i < ROUNDS; i++)
        rounds[i] = batch(gpu, (kf_cuda_sets *)sets, entry, scalars, problem, calls);
    device->operations->buffers.sets_free(sets);
    return kf_median(rounds, ROUNDS);
}
