/* Statistics of paired timings. Pure and deterministic: arrays in, numbers out. Times are seconds.
 *
 * A pair is one baseline batch and one candidate batch, measured next to each other (ABBA). The
 * speedup is the median of the pairwise ratios baseline/candidate. Its interval comes from the
 * order statistics of the sign test, which is exact and assumes no distribution. The interval is
 * widened if neighbouring pairs correlate, and by the uncertainty of a batch's fixed cost
 * (kf_speedup_widen).
 *
 * Fewer than 6 pairs support no 95 % interval: low and high are then NaN, so that every comparison
 * with them fails. A NaN sample, or no memory for a sorted copy, makes the whole result NaN. No
 * sample is dropped silently. docs/internals/judge.md gives the reasons.
 */
#ifndef KFORGE_STATS_H
#define KFORGE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/verdict_types.h"

/* The confidence for kf_speedup together with the stopping rule. Stopping at the first narrow
 * interval prefers intervals that are narrow by chance, so a nominal 95 % would cover less. With
 * 97.5 % and the rare checks of kf_stop_measuring, the final interval covers the true ratio in this
 * share of simulated A/A runs (tests/unit/test_stats.c):
 *
 *   97 to 98 %  normal and heavy-tailed noise
 *   94 to 95 %  neighbouring pairs correlate with 0.3
 *   92 %        neighbouring pairs correlate with 0.5 */
#define KF_TIMING_CONFIDENCE 0.975

/* Compares doubles for qsort: ascending, NaN last. */
int kf_compare_doubles(const void *a, const void *b);
/* Returns the median, NaN if `count` is 0. */
double kf_median(const double *values, size_t count);
/* Returns a quantile of type 7 (linear interpolation; Hyndman and Fan 1996), 0 <= q <= 1. */
double kf_quantile(const double *values, size_t count, double q);
/* Returns the median absolute deviation times 1.4826, an estimate of the standard deviation. */
double kf_mad(const double *values, size_t count);
/* Returns the median with a distribution-free interval at `confidence` (0.95), for independent
 * samples. */
kf_interval kf_median_interval(const double *values, size_t count, double confidence);
/* Returns the speedup from `count` pairs of seconds per call. The pairs are in the order of
 * measurement, from which the correlation of neighbours follows. A candidate time of 0 or less
 * (nothing left after the fixed cost) counts as an infinite ratio, a baseline time of 0 or less as
 * ratio 0, both together as NaN. */
kf_interval kf_speedup(const double *baseline, const double *candidate, size_t count,
                       double confidence);
/* Widens by the uncertainty u of the fixed cost that was subtracted from the batches of both sides,
 * of which B and C seconds remain. In first order that changes B/C by the factor
 * 1 ± u * |1/B - 1/C|. For the lower end of a faster candidate it is exact: (1 + u/B) / (1 + u/C).
 * A cost less certain than the batch is long then leaves a lower end above 0. */
kf_interval kf_speedup_widen(kf_interval speedup, double baseline_batch, double candidate_batch,
                             double cost_uncertainty);
/* Returns the geometric mean of independent speedups. Intervals combine in log space: the
 * half-width is the root of the sum of squared half-widths, over count. */
kf_interval kf_speedup_combine(const kf_interval *speedups, size_t count);

typedef struct kf_stopping_rule {
    /* 8 and 400 */
    size_t least_pairs, most_pairs;
    /* relative; 0.01: stop when the interval is within ±1 % */
    double half_width;
    /* for timing the workload */
    double seconds;
} kf_stopping_rule;
/* True when timing may stop: the interval is narrow enough, or a limit is reached. Call it after
 * each pair, with kf_speedup at KF_TIMING_CONFIDENCE. It checks the interval only at least_pairs,
 * and at counts that grow by a quarter from there (8, 10, 13, 17, 22, 28, …), because each check is
 * another chance to stop by luck. */
bool kf_stop_measuring(const kf_stopping_rule *rule, const kf_interval *speedup, size_t pairs,
                       double elapsed_seconds);
/* True if kf_stop_measuring checks the interval at this number of pairs. Otherwise it need not be
 * computed. */
bool kf_stopping_look(const kf_stopping_rule *rule, size_t pairs);

#endif
