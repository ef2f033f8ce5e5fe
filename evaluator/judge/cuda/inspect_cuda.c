/* Inspects the CUDA device's buffers after a batch, in the judge's context: guards, inputs, sets
 * that the batch left out, errors against the truth, and outputs that change after the clock has
 * stopped.
 *
 * Stopping a runner's threads does not stop its kernels. So the judge takes a snapshot of random
 * blocks of the outputs right after the clock has stopped (kf_cuda_output_snapshot). It compares
 * them after all other checks (kf_cuda_settled). An output that has changed was incomplete when the
 * clock stopped. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"
#include "device_pool_cuda.h"
#include "kforge/compare.h"
#include "kforge/file.h"
#include "work_cuda.h"

#define UNTOUCHED UINT64_MAX

/* ---- damage ---------------------------------------------------------------------------------- */

typedef struct watch {
    size_t entry;
    /* Of kf_damage. */
    int kind;
} watch;

static void add_check(kf_cuda_work *work, watch *watches, uint64_t start, uint64_t first,
                      uint64_t count, kf_key key, size_t entry, int kind)
{
    if (!count) return;
    watches[work->count] = (watch){entry, kind};
    kf_poison_task *task = kf_cuda_work_add(work, count / 16 + 2);
    *task = (kf_poison_task){.start = start,
                             .first = first,
                             .count = count,
                             .secret = key.secret,
                             .set = key.set,
                             .argument = key.argument};
}

static void list_checks(kf_cuda_sets *sets, const bool *chosen, kf_cuda_work *work, watch *watches)
{
    size_t arguments = (size_t)sets->problem->argument_count,
           entries = (size_t)sets->count * arguments;
    for (size_t entry = 0; entry < entries; entry++) {
        uint32_t set = (uint32_t)(entry / arguments);
        int i = (int)(entry % arguments);
        const kf_problem_argument *argument = &sets->problem->arguments[i];
        const kf_cuda_buffer *b = &sets->buffers[entry];
        if (argument->kind == KF_SCALAR) continue;
        kf_key key = kf_cuda_key(argument->kind == KF_INPUT ? sets->secrets.inputs
                                                            : sets->secrets.poison[sets->side],
                                 set, i);
        uint64_t start = sets->regions[b->region].base + b->offset, end = b->data_offset + b->bytes;
        add_check(work, watches, start, 0, b->data_offset, key, entry, KF_DAMAGE_GUARD);
        add_check(work, watches, start, end, b->length - end, key, entry, KF_DAMAGE_GUARD);
        if (argument->kind == KF_OUTPUT && !chosen[set])
            add_check(work, watches, start, b->data_offset, b->bytes, key, entry,
                      KF_DAMAGE_UNCHOSEN);
    }
}

/* Checks the guards of all buffers, and the outputs of the sets that the batch left out. *found:
 * the first damage in the order of buffers, guards first. */
static bool check_poison(kf_cuda_sets *sets, const bool *chosen, size_t *entry_found,
                         kf_damage *found, kf_error *error)
{
    kf_cuda_device *gpu = sets->gpu;
    size_t most = 3 * (size_t)sets->count * (size_t)sets->problem->argument_count;
    kf_autofree watch *watches = calloc(most + 1, sizeof *watches);
    kf_autofree uint64_t *where = malloc((most + 1) * sizeof *where);
    kf_autowork work = {0};
    if (!watches || !where) return kf_fail_memory(error, "an inspection of buffers");
    if (!kf_cuda_work_begin(&work, sizeof(kf_poison_task), most, error)) return false;
    list_checks(sets, chosen, &work, watches);
    size_t used = work.count, bytes = used * sizeof *where;
    void *parameters[] = {&gpu->results.pointer};
    if (!used) return true;
    if (!kf_cuda_scratch_need(gpu, &gpu->results, bytes, error) ||
        !kf_cuda_check(gpu, gpu->cuda.set_bytes(gpu->results.pointer, 0xff, bytes, gpu->stream),
                       "checking", error) ||
        !kf_cuda_work_run(gpu, KF_KERNEL_CHECK, &work, parameters, 1, error) ||
        !kf_cuda_check(gpu, gpu->cuda.copy_out(where, gpu->results.pointer, bytes, gpu->stream),
                       "checking", error) ||
        !kf_cuda_wait(gpu, "checking guards", error))
        return false;
    for (size_t k = 0; k < used && found->kind == KF_DAMAGE_NONE; k++) {
        if (where[k] == UNTOUCHED) continue;
        const kf_cuda_buffer *b = &sets->buffers[watches[k].entry];
        *entry_found = watches[k].entry;
        found->kind = watches[k].kind;
        found->byte = (int64_t)where[k] - (int64_t)b->data_offset;
    }
    return true;
}

/* Checks that inputs, and inouts of sets that the batch left out, are as they were filled. */
static bool check_digests(kf_cuda_sets *sets, const bool *chosen, size_t *entry_found,
                          kf_damage *found, kf_error *error)
{
    size_t arguments = (size_t)sets->problem->argument_count,
           entries = (size_t)sets->count * arguments, count = 0;
    kf_autofree size_t *list = calloc(entries + 1, sizeof *list);
    kf_autofree uint64_t *digests = calloc(entries + 1, sizeof *digests);
    if (!list || !digests) return kf_fail_memory(error, "an inspection of buffers");
    for (size_t entry = 0; entry < entries; entry++) {
        kf_argument_kind kind = sets->problem->arguments[entry % arguments].kind;
        if (kind == KF_INPUT || (kind == KF_INOUT && !chosen[entry / arguments]))
            list[count++] = entry;
    }
    if (!kf_cuda_digests(sets, sets->side, list, count, digests, error)) return false;
    for (size_t k = 0; k < count && found->kind == KF_DAMAGE_NONE; k++) {
        if (digests[k] == sets->buffers[list[k]].digest) continue;
        *entry_found = list[k];
        found->kind = sets->problem->arguments[list[k] % arguments].kind == KF_INPUT
                          ? KF_DAMAGE_INPUT
                          : KF_DAMAGE_UNCHOSEN;
        found->byte = -1;
    }
    return true;
}

bool kf_cuda_inspect(kf_sets *handle, const bool *chosen, kf_damage *damage, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_damage poison = {.kind = KF_DAMAGE_NONE}, digest = poison;
    size_t arguments = (size_t)sets->problem->argument_count, at = 0, digest_at = 0;
    if (!check_poison(sets, chosen, &at, &poison, error) ||
        !check_digests(sets, chosen, &digest_at, &digest, error))
        return false;
    bool first =
        poison.kind != KF_DAMAGE_NONE && (digest.kind == KF_DAMAGE_NONE || at <= digest_at);
    *damage = first ? poison : digest;
    if (!first) at = digest_at;
    if (damage->kind == KF_DAMAGE_NONE) return true;
    damage->set = (int)(at / arguments);
    damage->argument = (int)(at % arguments);
    return true;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void add_part(kf_device_compare *all, const kf_device_compare_part *part)
{
    kf_error_sums one = {.sum_square = part->sum_square,
                         .max = part->max,
                         .scale_square = part->scale_square,
                         .scale_max = part->scale_max,
                         .nonfinite = part->nonfinite,
                         .first_nonfinite = part->nonfinite ? part->first_nonfinite : -1};
    int64_t first = all->sums.first_nonfinite;
    kf_error_merge(&all->sums, &one);
    if (one.nonfinite && first >= 0 && one.first_nonfinite < first)
        all->sums.first_nonfinite = one.first_nonfinite;
    all->failed += part->failed;
}

/* Runs the comparison and adds the sums of all blocks to the comparisons of their tasks, in the
 * order of blocks. */
static bool run_device_compare(kf_cuda_device *gpu, kf_cuda_work *work, const size_t *slots,
                               kf_device_compare *comparisons, kf_error *error)
{
    if (!kf_cuda_work_deal(gpu, work, error)) return false;
    size_t bytes = work->blocks * sizeof(kf_device_compare_part);
    kf_autofree kf_device_compare_part *parts = malloc(bytes);
    void *parameters[] = {&gpu->results.pointer};
    if (!parts) return kf_fail_memory(error, "an inspection of buffers");
    if (!kf_cuda_scratch_need(gpu, &gpu->results, bytes, error) ||
        !kf_cuda_work_run(gpu, KF_KERNEL_COMPARE, work, parameters, 1, error) ||
        !kf_cuda_check(gpu, gpu->cuda.copy_out(parts, gpu->results.pointer, bytes, gpu->stream),
                       "comparing", error) ||
        !kf_cuda_wait(gpu, "comparing outputs", error))
        return false;
    for (size_t i = 0; i < work->blocks; i++)
        add_part(&comparisons[slots[work->slices[i].task]], &parts[i]);
    return true;
}

bool kf_cuda_device_compare_begin(kf_cuda_device *gpu, kf_error *error)
{
    kf_device_compare comparison = {.sums = KF_NO_ERRORS};
    const size_t slot = 0;
    kf_autowork work = {0};
    if (!kf_cuda_work_begin(&work, sizeof(kf_device_compare_task), 1, error)) return false;
    kf_device_compare_task *task = kf_cuda_work_add(&work, 1);
    *task = (kf_device_compare_task){.dtype = KF_F32};
    return run_device_compare(gpu, &work, &slot, &comparison, error);
}

/* Leaves outputs that may have fills to the host, by samples of the expected values. */
static bool look_for_fills(kf_cuda_sets *sets, const uint32_t *list, uint32_t count,
                           kf_device_compare *comparisons, kf_error *error)
{
    enum { PIECES = 16, EACH = KF_FILL_SAMPLE / PIECES };
    size_t arguments = (size_t)sets->problem->argument_count;
    for (size_t slot = 0; slot < (size_t)count * arguments; slot++) {
        const kf_problem_argument *argument = &sets->problem->arguments[slot % arguments];
        kf_device_compare *c = &comparisons[slot];
        double sample[KF_FILL_SAMPLE] = {1};
        if (!c->known || argument->elements < 2 ||
            !kf_may_have_fills(argument, c->sums.scale_max, sample, 1))
            continue;
        size_t entry = (size_t)list[slot / arguments] * arguments + slot % arguments;
        cu_pointer truth = kf_cuda_address(sets, &sets->truths[entry]);
        int64_t each = argument->elements < EACH ? argument->elements : EACH;
        for (int p = 0; p < PIECES; p++) {
            uint64_t at = (uint64_t)((argument->elements - each) / PIECES * p) * sizeof(double);
            if (!kf_cuda_check(sets->gpu,
                               sets->gpu->cuda.copy_out(sample + p * each, truth + at,
                                                        (size_t)each * sizeof(double),
                                                        sets->gpu->stream),
                               "copying to the host", error))
                return false;
        }
        if (!kf_cuda_wait(sets->gpu, "copying to the host", error)) return false;
        if (kf_may_have_fills(argument, c->sums.scale_max, sample, (int)(PIECES * each)))
            c->known = false;
    }
    return true;
}

bool kf_cuda_device_compare(kf_sets *handle, const uint32_t *list, uint32_t count,
                            kf_device_compare *comparisons, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    const kf_problem *problem = sets->problem;
    size_t arguments = (size_t)problem->argument_count;
    kf_autofree size_t *slots = calloc((size_t)count * arguments + 1, sizeof *slots);
    kf_autowork work = {0};
    if (!slots) return kf_fail_memory(error, "an inspection of buffers");
    if (!kf_cuda_work_begin(&work, sizeof(kf_device_compare_task), (size_t)count * arguments,
                            error))
        return false;
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            size_t entry = (size_t)list[k] * arguments + (size_t)i,
                   slot = (size_t)k * arguments + (size_t)i;
            kf_element_rule rule;
            comparisons[slot] = (kf_device_compare){.sums = KF_NO_ERRORS};
            if ((argument->kind != KF_OUTPUT && argument->kind != KF_INOUT) ||
                !kf_compare_rule(argument, &rule))
                continue;
            comparisons[slot].known = true;
            comparisons[slot].sums.count = argument->elements;
            slots[work.count] = slot;
            kf_device_compare_task *task =
                kf_cuda_work_add(&work, ((uint64_t)argument->elements + 3) / 4);
            *task =
                (kf_device_compare_task){.got = kf_cuda_address(sets, &sets->buffers[entry]),
                                         .expected = kf_cuda_address(sets, &sets->truths[entry]),
                                         .elements = (uint64_t)argument->elements,
                                         .slope = rule.slope,
                                         .base = rule.base,
                                         .largest = rule.largest,
                                         .roundoff = rule.roundoff,
                                         .dtype = (int32_t)argument->dtype,
                                         .counts = rule.counts,
                                         .rounded = rule.rounded};
        }
    return !work.count || (run_device_compare(sets->gpu, &work, slots, comparisons, error) &&
                           look_for_fills(sets, list, count, comparisons, error));
}

/* ---- is it over ------------------------------------------------------------------------------ */

static bool snapshot(kf_cuda_sets *sets, unsigned *changed, kf_error *error)
{
    kf_cuda_device *gpu = sets->gpu;
    int compare = changed != NULL;
    size_t count = sets->snapshot_count, bytes = count * KF_SNAPSHOTS * 16,
           counters = count * sizeof *changed;
    kf_autowork work = {0};
    if (!count) return true;
    if (!kf_cuda_scratch_need(gpu, &gpu->snapshots, bytes + counters, error) ||
        !kf_cuda_work_begin(&work, sizeof(kf_snapshot_task), count, error))
        return false;
    for (size_t i = 0; i < count; i++)
        *(kf_snapshot_task *)kf_cuda_work_add(&work, KF_SNAPSHOTS) = sets->snapshot_tasks[i];
    cu_pointer counts = gpu->snapshots.pointer + bytes;
    unsigned long long seed = sets->snapshot_seed;
    void *parameters[] = {&seed, &gpu->snapshots.pointer, &counts, &compare};
    return kf_cuda_check(gpu, gpu->cuda.set_bytes(counts, 0, counters, gpu->stream),
                         "comparing a snapshot", error) &&
           kf_cuda_work_run(gpu, KF_KERNEL_SNAPSHOT, &work, parameters, 4, error) &&
           (!compare ||
            kf_cuda_check(gpu, gpu->cuda.copy_out(changed, counts, counters, gpu->stream),
                          "comparing a snapshot", error)) &&
           kf_cuda_wait(gpu, "comparing a snapshot", error);
}

bool kf_cuda_output_snapshot(kf_sets *handle, const uint32_t *list, uint32_t count, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    const kf_problem *problem = sets->problem;
    size_t used = 0;
    /* Compares an earlier snapshot before it is overwritten. */
    kf_damage before;
    if (!kf_cuda_settled(handle, &before, error)) return false;
    sets->late = before;
    if (sets->python && !kf_cuda_output_snapshot_tasks(sets, list, count, &used))
        return kf_fail_memory(error, "an inspection of buffers");
    for (uint32_t k = 0; k < count && !sets->python; k++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (argument->kind != KF_OUTPUT && argument->kind != KF_INOUT) continue;
            size_t entry = (size_t)list[k] * (size_t)problem->argument_count + (size_t)i;
            const kf_cuda_buffer *b = &sets->buffers[entry];
            sets->snapshot_sets[used] = (uint32_t)entry;
            sets->snapshot_tasks[used++] =
                (kf_snapshot_task){.data = kf_cuda_address(sets, b), .bytes = b->bytes};
        }
    sets->snapshot_count = used;
    if (!kf_random(&sets->snapshot_seed, sizeof sets->snapshot_seed))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
    return snapshot(sets, NULL, error);
}

bool kf_cuda_settled(kf_sets *handle, kf_damage *damage, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    *damage = sets->late;
    if (damage->kind != KF_DAMAGE_NONE || !sets->snapshot_count) return true;
    kf_autofree unsigned *changed = calloc(sets->snapshot_count + 1, sizeof *changed);
    if (!changed) return kf_fail_memory(error, "an inspection of buffers");
    if (!snapshot(sets, changed, error)) return false;
    size_t arguments = (size_t)sets->problem->argument_count;
    for (size_t k = 0; k < sets->snapshot_count; k++) {
        if (!changed[k]) continue;
        *damage = (kf_damage){.kind = KF_DAMAGE_LATE,
                              .set = (int)(sets->snapshot_sets[k] / arguments),
                              .argument = (int)(sets->snapshot_sets[k] % arguments),
                              .byte = -1};
        break;
    }
    return true;
}
