/* Times of the baseline from earlier jobs, so that a later job need not measure them again. */
#include <stdio.h>
#include <string.h>

#include "measure_internal.h"

/* True if what one job finds out about the baseline holds for the next. In Python its buffers may
 * differ, and measuring it again takes little time compared with the import of PyTorch. Without
 * timing the time of a call serves limits only. */
static bool is_remembered(const kf_measurement *r)
{
    return (kf_measurement_separates_batches(r) || !r->schedule.timed) &&
           !kf_measurement_has_python(r);
}

/* Returns the number under which the pool keeps figures of this workload. Those of a workload that
 * is only checked hold less. */
static int number_of(const kf_measurement *r)
{
    return r->bench->workload + (r->schedule.timed ? 0 : KF_MAX_WORKLOADS);
}

bool kf_measurement_recall(kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    char key[4400];
    const char *task = kf_task_hash(bench->task);
    if (!is_remembered(r) || !task ||
        !kf_runner_pool_has_trusted(bench->pool, KF_ROLE_BASELINE,
                                    kf_measurement_key(bench, KF_ROLE_BASELINE, key),
                                    bench->options->strict_sandbox))
        return false;
    const kf_known *known = kf_runner_pool_recall(bench->pool, task, number_of(r), bench->seconds);
    if (!known || known->batch != r->schedule.batch_length) return false;
    r->history.known = *known;
    return true;
}

void kf_measurement_use_known(kf_measurement *r)
{
    const kf_known *known = &r->history.known;
    r->schedule.baseline_call = known->call;
    r->schedule.empty_batch = known->empty_batch;
    r->schedule.set_cost = known->set_cost;
    r->schedule.pair_time = known->pair_time;
    r->schedule.calls[BASELINE] = r->schedule.calls[CANDIDATE] = r->record.solo_calls =
        known->calls;
    for (size_t i = 0; i < known->solo_count; i++)
        kf_series_append(&r->record, &r->record.solo, known->solo_seconds[i], 1,
                         known->solo_woken[i]);
}

void kf_measurement_learn(kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    const char *task = kf_task_hash(bench->task);
    const kf_series *solo = &r->record.solo;
    const kf_set_limits limits = kf_measurement_set_limits(r);
    uint32_t calls = r->schedule.timed ? r->record.solo_calls : r->schedule.calls[BASELINE];
    if (!is_remembered(r) || !task || solo->count > KF_SOLO_BATCHES) return;
    r->history.known = (kf_known){.workload = number_of(r),
                                  .at = kf_now(),
                                  .seconds = bench->seconds,
                                  .batch = r->schedule.batch_length,
                                  .sets = kf_schedule_sets_for(&limits, calls),
                                  .calls = calls,
                                  .call = r->schedule.baseline_call,
                                  .empty_batch = r->schedule.empty_batch,
                                  .set_cost = r->schedule.set_cost,
                                  .pair_time = r->schedule.pair_time,
                                  .solo_count = solo->count};
    snprintf(r->history.known.task, sizeof r->history.known.task, "%s", task);
    memcpy(r->history.known.solo_seconds, solo->seconds, solo->count * sizeof(double));
    memcpy(r->history.known.solo_woken, solo->waking, solo->count * sizeof(double));
}
