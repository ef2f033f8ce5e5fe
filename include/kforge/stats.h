/* Statistics of paired timings. Pure: arrays in, numbers out; no clock, no allocation kept, deterministic for a seed.
 *
 * A pair is one baseline batch and one candidate batch measured next to each other (ABBA); the estimate is the median of the pairwise
 * ratios baseline/candidate, its 95 % interval comes from the order statistics of the sign test (exact, no distribution assumed) when there
 * are at least 6 pairs and is widened by the null-batch uncertainty. docs/architecture.md, "Timing", says why.
 */
#ifndef KFORGE_STATS_H
#define KFORGE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kf_interval {
    double value, low, high; /* NaN when there are too few samples */
} kf_interval;

double kf_median(const double *values, size_t count);             /* NaN for none */
double kf_quantile(const double *values, size_t count, double q); /* type 7 (linear interpolation) */
/* Median absolute deviation, scaled by 1.4826 to estimate a standard deviation. */
double kf_mad(const double *values, size_t count);
/* Median with a distribution-free confidence interval at `confidence` (0.95). */
kf_interval kf_median_interval(const double *values, size_t count, double confidence);
/* Speedup from `count` pairs of seconds per call. */
kf_interval kf_speedup(const double *baseline, const double *candidate, size_t count, double confidence);
/* Geometric mean of independent speedups with intervals combined in log space. */
kf_interval kf_speedup_combine(const kf_interval *speedups, size_t count);

typedef struct kf_stopping_rule {
    size_t least_pairs, most_pairs; /* 8 and 400 */
    double half_width;              /* relative, 0.01: stop when the interval is within ±1 % */
    double seconds;                 /* time budget of the workload's timing */
} kf_stopping_rule;
/* True when measuring may stop: the interval is narrow enough or a limit is reached. */
bool kf_stop_measuring(const kf_stopping_rule *rule, const kf_interval *speedup, size_t pairs, double elapsed_seconds);

#endif
