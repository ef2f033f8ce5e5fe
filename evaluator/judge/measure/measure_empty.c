/* Batches without calls, and priming calls: both show what a batch costs apart from its calls. */
#include "measure_internal.h"

bool kf_measurement_prime(kf_measurement *r, kf_side side, double *seconds, kf_error *error)
{
    kf_batch batch;
    if (!kf_measurement_batch(r, side, 0, 1, KF_PRIMING_CALL, -1, &batch, error)) return false;
    kf_measurement_charge_late(r, side, &batch); /* nothing is free there, either */
    *seconds = batch.seconds;
    return true;
}

/* `keep`: what its process has computed is not read yet. */
static bool empty_batch(kf_measurement *r, kf_runner *runner, uint32_t count, bool keep,
                        kf_batch *batch, kf_error *error)
{
    *batch = (kf_batch){
        .order = r->lists.order, .count = count, .null = true, .keep = keep, .timeout = 20};
    if (r->device->buffers.snapshot) batch->answered = kf_measurement_snapshot_nothing;
    kf_runner_pool_pause(r->bench->pool);
    /* as before every batch */
    r->device->buffers.cache_flush(r->sets, r->lists.order, 1);
    if (!kf_measurement_occupy_batch(r, batch, error)) return false;
    kf_runner_event event = kf_runner_batch(runner, batch);
    if (!kf_measurement_end_occupation(r, error)) return false;
    if (event == KF_RUNNER_OK) return true;
    return kf_measurement_report(r, runner, runner == r->oracle ? KF_ROLE_ORACLE : KF_ROLE_BASELINE,
                                 event, batch->code, "running an empty batch", error);
}

static bool empty_of(kf_measurement *r, kf_runner *runner, uint32_t count, kf_error *error)
{
    kf_batch batch;
    if (!empty_batch(r, runner, count, false, &batch, error)) return false;
    if (r->over) return true;
    /* Batches are charged the same way, and these times are subtracted from them. */
    kf_measurement_charge_waking(r, BASELINE, &batch);
    if (r->record.empty.count == r->record.capacity) return true;
    kf_series_append(&r->record, &r->record.empty, batch.seconds, 1, batch.waking);
    return kf_measurement_add_sample(r, 'n', -1, &batch) || kf_fail_memory(error, "a measurement");
}

/* Where batches are separated, the last empty batch is the oracle's. If the oracle is of another
 * kind than the baseline, its empty batches do not count, and the baseline's own counts, made after
 * one of the oracle. */
static bool empty_baseline_batch(kf_measurement *r, kf_side side, uint32_t count, kf_error *error)
{
    kf_batch batch;
    const kf_runner_kind *kinds = r->bench->kinds;
    if (!kf_measurement_separates_batches(r))
        return empty_of(r, r->runners[BASELINE], count, error);
    if (kinds[KF_ROLE_ORACLE] == kinds[KF_ROLE_BASELINE])
        return empty_of(r, r->oracle, count, error);
    if (!empty_batch(r, r->oracle, 1, false, &batch, error)) return false;
    if (r->over || side == CANDIDATE) return true;
    if (!empty_of(r, r->runners[BASELINE], count, error)) return false;
    return r->over || empty_batch(r, r->oracle, 1, false, &batch, error);
}

/* Measures what an empty batch costs the candidate's kind of runner, in a process without a
 * candidate. It is a batch of one call, because what Python adds to each call is the candidate's
 * own. */
static bool empty_candidate_batch(kf_measurement *r, kf_error *error)
{
    kf_batch batch;
    if (!empty_batch(r, r->idle ? r->idle : r->runners[BASELINE], 1, false, &batch, error))
        return false;
    if (r->over) return true;
    /* The first wakings count, not the latest. */
    if (r->idle && r->record.idle_wakings.count < KF_WAKINGS)
        kf_wakings_append(&r->record.idle_wakings, batch.waking);
    kf_series_append(&r->record, &r->record.empty_candidate, batch.seconds, 1, batch.waking);
    return true;
}

/* Measures what it costs right after another batch of the same process, as single calls come. */
static bool empty_candidate_again(kf_measurement *r, kf_error *error)
{
    kf_batch batch;
    if (!empty_batch(r, r->idle, 1, false, &batch, error)) return false;
    if (!r->over)
        kf_series_append(&r->record, &r->record.idle_again, batch.seconds, 1, batch.waking);
    return true;
}

/* Measures an empty batch of a side with priming calls: right after another batch of the same
 * process, because its timed batches come right after a priming call. */
static bool empty_primed(kf_measurement *r, kf_side side, kf_error *error)
{
    kf_batch batch;
    bool own = side == CANDIDATE && r->idle;
    kf_runner *runner = own                                                  ? r->idle
                        : r->bench->kinds[KF_ROLE_ORACLE] == KF_RUNNER_TORCH ? r->oracle
                                                                             : r->runners[BASELINE];
    if (!empty_batch(r, runner, 1, false, &batch, error)) return false;
    if (r->over) return true;
    return own ? empty_candidate_batch(r, error) : empty_of(r, runner, 1, error);
}

bool kf_measurement_empty_batch(kf_measurement *r, kf_side side, uint32_t count, kf_error *error)
{
    kf_batch batch;
    bool aside = kf_measurement_separates_batches(r);
    if (kf_measurement_needs_priming(r, side)) return empty_primed(r, side, error);
    if (aside ? !r->idle : !kf_measurement_has_python(r))
        return empty_baseline_batch(r, side, count, error);
    /* The last batch is of the side's own kind of runner. */
    if (side == BASELINE)
        return (aside ? empty_batch(r, r->idle, 1, false, &batch, error)
                      : empty_candidate_batch(r, error)) &&
               (r->over || empty_baseline_batch(r, side, count, error));
    return (aside ? empty_batch(r, r->oracle, 1, false, &batch, error)
                  : empty_baseline_batch(r, side, count, error)) &&
           (r->over || empty_candidate_batch(r, error)) &&
           (r->over || !aside || empty_candidate_again(r, error));
}

bool kf_measurement_empty_batches(kf_measurement *r, const kf_pair_plan *plan, uint32_t planned,
                                  kf_error *error)
{
    /* Where batches are separated, an empty batch comes before each batch. */
    size_t empty = kf_measurement_separates_batches(r)
                       ? 0
                       : kf_schedule_empty_batches(plan, planned, r->record.empty.count);
    for (; empty && !r->over; empty--)
        if (!kf_measurement_empty_batch(r, CANDIDATE, r->schedule.calls[BASELINE], error))
            return false;
    return true;
}

bool kf_measurement_empty_again(kf_measurement *r, kf_error *error)
{
    kf_batch batch;
    if (!empty_batch(r, r->runners[BASELINE], 1, true, &batch, error)) return false;
    if (r->over) return true;
    kf_measurement_charge_waking(r, BASELINE, &batch);
    kf_series_append(&r->record, &r->record.empty_again, batch.seconds, 1, batch.waking);
    return true;
}
