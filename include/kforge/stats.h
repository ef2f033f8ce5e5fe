/* Statistics of paired timings. Pure: arrays in, numbers out; no clock, no allocation kept,
 * deterministic.
 *
 * A pair is one baseline batch and one candidate batch measured next to each other (ABBA); the
 * estimate is the median of the pairwise ratios baseline/candidate. Its interval comes from the
 * order statistics of the sign test (exact, no distribution assumed); it is widened where
 * neighbouring pairs resemble each other, and by what is not known about the fixed cost of a batch
 * (kf_speedup_widen). Fewer than 6 pairs support no 95 % interval: low and high are NaN then, so
 * that every comparison with them fails. A NaN sample, or no memory for a sorted copy, makes the
 * whole result NaN: nothing is dropped silently. docs/internals/architecture.md, "Timing", says
 * why.
 */
#ifndef KFORGE_STATS_H
#define KFORGE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/verdict_types.h"

/* Confidence to ask of kf_speedup while a stopping rule watches the result: stopping as soon as the
 * interval looks narrow prefers intervals that are narrow by luck, so that a nominal 95 % would
 * cover less. With 97.5 % and kf_stop_measuring's rare looks the final interval covers the true
 * ratio in 97 to 98 % of simulated A/A runs with normal and heavy-tailed noise, in 94 to 95 % when
 * neighbouring pairs correlate with 0.3 and in 92 % when they do with 0.5 (tests/unit/test_stats.c
 * measures it). */
#define KF_TIMING_CONFIDENCE 0.975

double kf_median(const double *values, size_t count); /* NaN for none */
/* type 7 (linear interpolation), 0 <= q <= 1 */
double kf_quantile(const double *values, size_t count, double q);
/* Median absolute deviation, scaled by 1.4826 to estimate a standard deviation. */
double kf_mad(const double *values, size_t count);
/* Median with a distribution-free confidence interval at `confidence` (0.95), for independent
 * samples. */
kf_interval kf_median_interval(const double *values, size_t count, double confidence);
/* Speedup from `count` pairs of seconds per call, in the order measured (the order tells how alike
 * neighbours are). A candidate time of 0 or less (the fixed cost took it all) counts as an infinite
 * ratio, a baseline time of 0 or less as ratio 0, both as NaN. */
kf_interval kf_speedup(const double *baseline, const double *candidate, size_t count,
                       double confidence);
/* Widens by the uncertainty of the fixed cost that was subtracted from both sides' batches: with
 * seconds B and C per batch left after subtracting it, an error of `cost_uncertainty` seconds
 * changes B/C by the factor 1 ± cost_uncertainty * |1/B - 1/C|. */
kf_interval kf_speedup_widen(kf_interval speedup, double baseline_batch, double candidate_batch,
                             double cost_uncertainty);
/* Geometric mean of independent speedups with intervals combined in log space: half-widths add as
 * the root of their squares, over count. */
kf_interval kf_speedup_combine(const kf_interval *speedups, size_t count);

typedef struct kf_stopping_rule {
    size_t least_pairs, most_pairs; /* 8 and 400 */
    double half_width;              /* relative, 0.01: stop when the interval is within ±1 % */
    double seconds;                 /* time budget of the workload's timing */
} kf_stopping_rule;
/* True when measuring may stop: the interval is narrow enough or a limit is reached. Call it after
 * every pair. It looks at the interval only at least_pairs and at counts that grow by a quarter
 * from there (8, 10, 13, 17, 22, 28, …): each look is one more chance to stop on luck, so they are
 * few. *speedup is kf_speedup at KF_TIMING_CONFIDENCE. */
bool kf_stop_measuring(const kf_stopping_rule *rule, const kf_interval *speedup, size_t pairs,
                       double elapsed_seconds);
/* True when the interval will be looked at with so many pairs; saves computing it in between. */
bool kf_stopping_look(const kf_stopping_rule *rule, size_t pairs);

#endif
