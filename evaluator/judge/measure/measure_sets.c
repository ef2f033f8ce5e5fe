/* Makes the sets, and measures what the schedule has to know to size batches. */
#include <math.h>
#include <string.h>

#include "input_generator.h"
#include "measure_internal.h"
#include "wire.h"

/* of all sets together, because each buffer costs messages to three runners */
#define MAX_BUFFERS 8192
/* of the rows that a problem's own generator makes ahead */
#define MAX_ROW_BYTES ((uint64_t)1 << 30)
/* seconds; no batch has to be longer */
#define LONG_BATCH 0.02
/* times the length of a batch, where a side is in Python */
#define PYTHON_FACTOR 6
/* times an empty batch: if the truth takes longer, the fixed cost in it matters little */
#define LONG_TRUTH 10.0
#define SHORT_CALLS 32

/* ---- sets ------------------------------------------------------------------------------------ */

void kf_measurement_drop_sets(kf_measurement *r)
{
    if (r->sets) r->device->buffers.sets_free(r->sets);
    kf_generator_free(kf_steal(&r->bench->device->next_sets.generator));
    free(r->lists.variations);
    free(r->lists.order);
    free(r->lists.list);
    free(r->lists.chosen);
    free(r->lists.true_known);
    free(r->lists.baseline_ran);
    free(r->lists.doubtful);
    r->sets = NULL;
    r->lists.variations = NULL;
    r->lists.order = r->lists.list = NULL;
    r->lists.chosen = r->lists.true_known = r->lists.baseline_ran = r->lists.doubtful = NULL;
}

bool kf_measurement_make_sets(kf_measurement *r, uint32_t count, kf_error *error)
{
    kf_measurement_drop_sets(r);
    r->set_count = count;
    r->lists.variations = calloc(count, sizeof *r->lists.variations);
    r->lists.order = calloc(count, sizeof *r->lists.order);
    r->lists.list = calloc(count, sizeof *r->lists.list);
    r->lists.chosen = calloc(count, sizeof *r->lists.chosen);
    r->lists.true_known = calloc(count, sizeof *r->lists.true_known);
    r->lists.baseline_ran = calloc(count, sizeof *r->lists.baseline_ran);
    r->lists.doubtful = calloc(count, sizeof *r->lists.doubtful);
    if (!r->lists.variations || !r->lists.order || !r->lists.list || !r->lists.chosen ||
        !r->lists.true_known || !r->lists.baseline_ran || !r->lists.doubtful)
        return kf_fail_memory(error, "a measurement");
    for (uint32_t i = 0; i < count; i++) r->lists.variations[i].argument = -1;
    /* On a device that can be occupied, all sets of a fill are made before that. */
    uint32_t rows = r->device->buffers.make_fresh ? count + 1 : 1;
    if (kf_generator_is_needed(r->bench->problem) &&
        !(r->bench->device->next_sets.generator =
              kf_generator_new(r->bench->problem, rows, &r->bench->clock, error)))
        return false;
    r->sets = r->device->buffers.sets_new(r->bench->device, r->bench->problem, count, true, error);
    if (r->sets) return true;
    /* An earlier candidate may still have the memory, until its process is gone. */
    if (!kf_runner_pool_settle(r->bench->pool, false, error)) return false;
    r->sets = r->device->buffers.sets_new(r->bench->device, r->bench->problem, count, true, error);
    if (r->sets) return true;
    /* Memory that a solution in Python gets is limited. Another candidate must not force this. */
    const kf_runner *candidate = r->runners[CANDIDATE] ? r->runners[CANDIDATE]
                                 : r->bench->round.candidate_runner
                                     ? *r->bench->round.candidate_runner
                                     : NULL;
    if (!candidate || kf_runner_is_python(kf_runner_kind_of(candidate))) {
        r->bench->device->next_sets.sides_share = true;
        r->sets =
            r->device->buffers.sets_new(r->bench->device, r->bench->problem, count, true, error);
        r->bench->device->next_sets.sides_share = false;
        if (r->sets) return true;
    }
    bool held;
    kf_error others = {0};
    return kf_measurement_blame_holder(r, &held, &others) ? held : kf_fail_copy(error, &others);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The device reserves memory for runners in Python only, so only then it may have room for fewer
 * than three. */
uint32_t kf_measurement_least_sets(const kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    bool python = kf_measurement_has_python(r) || bench->kinds[KF_ROLE_ORACLE] == KF_RUNNER_TORCH;
    return python && r->device->python.least_sets
               ? r->device->python.least_sets(
                     bench->device, bench->problem,
                     kf_runner_is_python(kf_measurement_kind(bench, KF_ROLE_CANDIDATE)))
               : KF_MIN_SETS;
}

kf_set_limits kf_measurement_set_limits(const kf_measurement *r)
{
    const kf_problem *problem = r->bench->problem;
    uint64_t a_set = problem->total_bytes ? problem->total_bytes : 1;
    uint64_t room = r->bench->device->set_bytes / a_set;
    uint64_t row = kf_generator_row_bytes(problem);
    if (row && r->device->buffers.make_fresh) {
        uint64_t rows =
            MAX_ROW_BYTES / row < KF_WIRE_MAX_SETS ? MAX_ROW_BYTES / row : KF_WIRE_MAX_SETS;
        if (room >= rows) room = rows ? rows - 1 : 0; /* one is for a fresh set */
    }
    return (kf_set_limits){.least = kf_measurement_least_sets(r),
                           .room = (double)room,
                           .most = fmin(r->bench->device->most_sets,
                                        MAX_BUFFERS / (double)(problem->argument_count + 1))};
}

bool kf_measurement_change_sets(kf_measurement *r, uint32_t count, kf_error *error)
{
    struct {
        kf_runner *runner;
        kf_role role;
    } rows[] = {{r->runners[BASELINE], KF_ROLE_BASELINE},
                {r->oracle, KF_ROLE_ORACLE},
                {r->runners[CANDIDATE], KF_ROLE_CANDIDATE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_runner_event event = rows[i].runner ? kf_runner_unmap(rows[i].runner) : KF_RUNNER_OK;
        if (event != KF_RUNNER_OK)
            return kf_measurement_report(r, rows[i].runner, rows[i].role, event, 0,
                                         "unmapping its buffers", error);
    }
    if (!kf_measurement_make_sets(r, count, error)) return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !r->over; i++)
        if (rows[i].runner && !kf_measurement_hand_over(r, rows[i].role, rows[i].runner, error))
            return false;
    return true;
}

double kf_measurement_find_batch_length(const kf_measurement *r)
{
    const kf_device *device = r->bench->device;
    double more = r->bench->options->seconds / device->default_seconds,
           length = device->batch_seconds * fmax(more, 1);
    /* Python takes several times as long to answer as a runner in C, and that time varies. */
    return fmin(kf_measurement_has_python(r) ? PYTHON_FACTOR * length : length, LONG_BATCH);
}

/* Times calls that are short compared with an empty batch: many of them, on the same few sets. The
 * result only decides how many calls make a batch. */
static bool time_short_calls(kf_measurement *r, double *best, kf_error *error)
{
    uint32_t order[SHORT_CALLS];
    for (uint32_t i = 0; i < SHORT_CALLS; i++) order[i] = i % r->set_count;
    *best = INFINITY;
    for (int turn = 0; turn < 3; turn++) {
        kf_batch batch = {.order = order,
                          .count = SHORT_CALLS,
                          .timeout = kf_measurement_timeout(r, BASELINE, SHORT_CALLS)};
        if (r->device->buffers.snapshot) batch.answered = kf_measurement_snapshot_nothing;
        r->device->buffers.cache_flush(r->sets, order,
                                       r->set_count < SHORT_CALLS ? r->set_count : SHORT_CALLS);
        if (!kf_measurement_occupy_batch(r, &batch, error)) return false;
        kf_runner_event event = kf_runner_batch(r->runners[BASELINE], &batch);
        if (!kf_measurement_end_occupation(r, error)) return false;
        if (event != KF_RUNNER_OK)
            return kf_measurement_report(r, r->runners[BASELINE], KF_ROLE_BASELINE, event,
                                         batch.code, "running a batch of calls", error);
        *best = fmin(*best, fmax(batch.seconds - r->schedule.empty_batch, 1e-6) / SHORT_CALLS);
    }
    return true;
}

/* Finds the least seconds that the oracle takes for the truth of the first sets. Of three turns the
 * first warms up. */
static bool time_truths(kf_measurement *r, uint32_t count, double *seconds, kf_error *error)
{
    uint32_t list[KF_MIN_SETS];
    for (uint32_t i = 0; i < count; i++) list[i] = i;
    *seconds = INFINITY;
    for (int turn = 0; turn < 3 && !r->over; turn++) {
        double started = kf_now();
        memset(r->lists.true_known, 0, r->set_count * sizeof *r->lists.true_known);
        if (!kf_measurement_find_truth(r, list, count, error)) return false;
        if (turn) *seconds = fmin(*seconds, kf_now() - started);
    }
    return true;
}

/* Finds out what the truth of a set costs. Each call of a candidate is compared with one, so a slow
 * oracle means fewer calls. If it is short compared with the fixed cost of a batch, the difference
 * between several sets and one is the answer. */
static bool time_truth(kf_measurement *r, double *seconds, kf_error *error)
{
    double more = 0;
    uint32_t some = r->set_count < KF_MIN_SETS ? r->set_count : KF_MIN_SETS;
    if (!time_truths(r, 1, seconds, error)) return false;
    if (r->over || some < 2 || *seconds > LONG_TRUTH * r->schedule.empty_batch) return true;
    if (!time_truths(r, some, &more, error)) return false;
    *seconds = fmax(more - *seconds, 0) / (some - 1);
    return true;
}

bool kf_measurement_size_batches(kf_measurement *r, kf_error *error)
{
    double started = kf_now(), best = INFINITY, around = INFINITY;
    if (!r->device->buffers.fill(r->sets, kf_measurement_draw(r, "probe", 0), r->lists.variations,
                                 error))
        return false;
    double filling = kf_now() - started;
    for (int turn = 0; turn < 3 && !r->over; turn++) {
        kf_batch batch, empty = {.order = r->lists.order, .count = 1, .null = true, .timeout = 20};
        if (r->device->buffers.snapshot) empty.answered = kf_measurement_snapshot_nothing;
        r->lists.order[0] = (uint32_t)turn % r->set_count;
        started = kf_now();
        if (!kf_measurement_refresh(r, turn, BASELINE, 1, error)) return false;
        if (!kf_measurement_occupy_batch(r, &empty, error)) return false;
        kf_runner_event event = kf_runner_batch(r->runners[BASELINE], &empty);
        if (!kf_measurement_end_occupation(r, error)) return false;
        if (event != KF_RUNNER_OK)
            return kf_measurement_report(r, r->runners[BASELINE], KF_ROLE_BASELINE, event,
                                         empty.code, "running an empty batch", error);
        if (!kf_measurement_batch(r, BASELINE, 0, 1, 0, -1, &batch, error) ||
            !kf_measurement_inspect(r, BASELINE, error))
            return false;
        if (turn == 0) continue; /* the first call warms up */
        best = fmin(best, fmax(batch.seconds - empty.seconds, 1e-6));
        r->schedule.empty_batch =
            turn == 1 ? empty.seconds : fmin(r->schedule.empty_batch, empty.seconds);
        around = fmin(around, fmax(kf_now() - started - batch.seconds - empty.seconds, 0));
    }
    if (r->over) return true;
    if (r->schedule.timed && best < 3 * r->schedule.empty_batch &&
        !time_short_calls(r, &best, error))
        return false;
    if (r->over) return true;
    kf_schedule_set_call(&r->schedule, best, r->set_count);
    if (!r->schedule.timed) return true;
    kf_schedule_probe probe = {.sets = r->set_count, .filling = filling, .around = around};
    if (!time_truth(r, &probe.truth, error) || r->over) return r->over;
    probe.primed =
        kf_measurement_needs_priming(r, BASELINE) || kf_measurement_needs_priming(r, CANDIDATE);
    kf_set_limits limits = kf_measurement_set_limits(r);
    uint32_t count = kf_schedule_size_batches(&r->schedule, &probe, &limits);
    return count <= limits.least || kf_measurement_change_sets(r, count, error);
}
