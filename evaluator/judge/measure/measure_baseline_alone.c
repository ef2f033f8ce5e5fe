/* The baseline's batches while no candidate is loaded, and the warm-up of either side. */
#include <math.h>

#include "measure_internal.h"

/* After so many calls the driver has written each of its buffers once. */
#define WARM_CALLS 4096
/* A warm-up takes at most so many seconds and batches. */
#define WARM_SECONDS 0.03
#define WARM_BATCHES 20
/* Two batches that agree so well end it, unless calls wait for their launch. */
#define WARM_SETTLED 0.02

/* A candidate's batch should take at most so many seconds. */
#define LONGEST_BATCH 0.5

bool kf_measurement_first_calls(kf_measurement *r, kf_error *error)
{
    double seconds = INFINITY;
    if (r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH) return true;
    if (!r->device->buffers.fill(r->sets, kf_measurement_draw(r, "first", 0), r->lists.variations,
                                 error))
        return false;
    for (uint32_t i = 0; i < r->set_count; i++) r->lists.order[i] = i;
    kf_choices_permute(&r->choices, r->lists.order, r->set_count);
    /* The first call may build tables, so a second one follows if it was slow. */
    for (int i = 0; i < 2 && seconds * r->schedule.calls[CANDIDATE] > LONGEST_BATCH; i++) {
        kf_batch batch;
        if (!kf_measurement_refresh(r, -1 - i, CANDIDATE, 1, error) ||
            !kf_measurement_batch(r, CANDIDATE, 0, 1, 0, -1, &batch, error))
            return false;
        if (r->over) return true;
        seconds = fmin(seconds, fmax(batch.seconds - r->schedule.empty_batch, 0));
        if (!kf_measurement_inspect(r, CANDIDATE, error) || r->over) return r->over;
    }
    kf_schedule_set_candidate_call(&r->schedule, seconds, LONGEST_BATCH);
    return true;
}

/* Without inouts, outputs are poisoned before the first batch only, and inspected after the last.
 */
bool kf_measurement_warm_up(kf_measurement *r, kf_side side, double *least, kf_error *error)
{
    double seconds = 0, last = INFINITY;
    *least = INFINITY;
    bool launches = r->schedule.baseline_call < r->bench->device->launch_bound;
    kf_measurement_memory_settle(r);
    if (!r->device->buffers.fill(r->sets, kf_measurement_draw(r, "warm", (int)side),
                                 r->lists.variations, error))
        return false;
    for (uint32_t i = 0; i < r->set_count; i++) r->lists.order[i] = i;
    for (uint32_t i = 0; i < WARM_BATCHES && seconds < WARM_SECONDS && !r->over; i++) {
        kf_batch batch;
        kf_choices_permute(&r->choices, r->lists.order, r->set_count);
        if (i && !r->in_place)
            r->device->buffers.cache_flush(r->sets, r->lists.order, r->schedule.calls[side]);
        else if (!(side == BASELINE
                       ? kf_measurement_ready_baseline(r, -1, r->schedule.calls[side], error)
                       : kf_measurement_refresh(r, -1, side, r->schedule.calls[side], error)))
            return false;
        if (!kf_measurement_batch(r, side, 0, r->schedule.calls[side], 0, -1, &batch, error))
            return false;
        if (side == CANDIDATE && r->in_place && !kf_measurement_inspect(r, side, error))
            return false;
        /* A module may compile its kernels in the first batch. That time says nothing about its
         * calls. */
        bool first =
            i == 0 && side == CANDIDATE && r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH;
        if (first)
            kf_clock_exclude(&r->bench->clock, KF_PAUSE_WORKLOAD, batch.seconds);
        else
            seconds += batch.seconds;
        bool settled = fabs(batch.seconds - last) < WARM_SETTLED * batch.seconds;
        if (i) *least = fmin(*least, fmin(last, batch.seconds));
        last = batch.seconds;
        if (settled && (!launches || kf_runner_calls(r->runners[side]) >= WARM_CALLS)) break;
    }
    if (side == CANDIDATE && !r->over) kf_checker_note_written(r->checker, r->sets, r->set_count);
    return side == BASELINE || r->in_place || kf_measurement_inspect(r, side, error);
}

bool kf_measurement_solo(kf_measurement *r, uint32_t calls, kf_series *series, kf_error *error)
{
    series->count = 0;
    r->record.solo_calls = calls;
    kf_measurement_memory_settle(r);
    for (uint32_t i = 0; i < r->set_count; i++) r->lists.order[i] = i;
    /* Inputs are varied as in pairs, because values change times: a division is slower if its
     * result is denormal. */
    kf_checker_vary(r->checker, &r->choices, r->lists.order, 0, r->set_count, false, 0,
                    r->lists.variations);
    if (!r->device->buffers.fill(r->sets, kf_measurement_draw(r, "alone", 0), r->lists.variations,
                                 error))
        return false;
    for (int i = 0; i <= KF_SOLO_BATCHES && !r->over; i++) { /* the first one warms up */
        kf_batch batch;
        if (kf_measurement_separates_batches(r) &&
            (!kf_measurement_empty_batch(r, BASELINE, calls, error) || r->over))
            return r->over;
        if (kf_measurement_needs_priming(r, BASELINE)) {
            double ignored;
            if (!kf_measurement_prime(r, BASELINE, &ignored, error) || r->over) return r->over;
            if (kf_measurement_needs_priming(r, CANDIDATE) &&
                !r->device->buffers.fill(r->sets, kf_measurement_draw(r, "alone", 0),
                                         r->lists.variations, error))
                return false; /* as in pairs */
        }
        if (!kf_measurement_ready_baseline(r, i, calls, error)) return false;
        if (!kf_measurement_batch(r, BASELINE, 0, calls, i ? 'a' : 0, -1, &batch, error))
            return false;
        if (kf_measurement_fetches_all(r) && !r->over &&
            !kf_measurement_fetch(r, BASELINE, r->lists.order, calls, error))
            return false;
        if (!i || r->over) continue;
        kf_series_append(&r->record, series, batch.seconds, calls, batch.waking);
    }
    return true;
}
