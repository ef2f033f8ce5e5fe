/* From raw timings to figures: fixed costs, speedups, and evidence of interference and of cheating.
 *
 * Pure: a record and a calibration in, figures out. No clock, no device, no state. The judge
 * decides which evidence becomes a finding (judge/measure/measure_figures.c).
 *
 * The steps, in order:
 *   0. What waiting for an open gate takes is subtracted from each call.
 *   1. What a priming call took too long is charged to its batch.
 *   2. What a waking took longer than the baseline's usual one is charged to its batch, in every
 *      series.
 *   3. The cost of a batch without calls is subtracted from each batch.
 *   4. Speedups follow from the pairs (kforge/stats.h). Their intervals are widened by what is
 *      unknown about the fixed cost, and by what two processes of one program differ by. */
#ifndef KFORGE_TIMING_ANALYSIS_H
#define KFORGE_TIMING_ANALYSIS_H

#include "kforge/error.h"
#include "kforge/stats.h"
#include "timing_record.h"

/* What is known of the device and of the two programs. Seconds, unless it says otherwise. The first
 * seven members are those of kf_device with the same names. */
typedef struct kf_timing_calibration {
    double launch_bound, launch_bias;
    double batch_bias, python_bias, python_cold;
    double process_bias, python_process_bias; /* parts of a call */
    /* a runner's own clock around its calls sees all of their work */
    bool calls_block;
    /* an empty batch of a third process comes before each timed batch */
    bool separated;
    /* by side: the program is in Python; a priming call comes before its batches */
    bool python[2], primed[2];
    /* the candidate's kind of runner differs from the baseline's, and an idle one was timed */
    bool has_idle;
    /* of an empty batch, roughly */
    double empty_batch;
    /* that the wait between two calls adds to each of them */
    double gate;
} kf_timing_calibration;

/* The baseline may be slower by this part in pairs than alone. */
#define KF_TIMING_INTERFERENCE 0.03

/* The baseline's batches in pairs and alone: medians of a call. */
typedef struct kf_interference {
    kf_interval paired, before, after;
    /* the pairs disagree with `before`, so that later jobs cannot use it */
    bool stale;
    /* slower in pairs than `before`, and than `after`, which is NAN until it has been measured */
    bool suspected, confirmed;
} kf_interference;

typedef struct kf_figures {
    /* NAN where a side seems to take no time */
    kf_interval speedup, latency_speedup;
    /* by side: medians of a call, in a batch and alone */
    double seconds[2], latency_seconds[2];
    double batch_cost;
    /* at most so much of a batch's cost may be wrong */
    double cost_uncertainty;
    /* of the candidate, in a batch */
    kf_interval candidate_call;
    kf_interference interference;
} kf_figures;

/* Fills *figures. False without memory. */
bool kf_timing_analyse(const kf_timing_record *record, const kf_timing_calibration *calibration,
                       kf_figures *figures, kf_error *error);

#endif
