/* Scores of a benchmark: what share of a suite's problems is solved, how fast, and how sure one can
 * be of that. Pure: arrays in, numbers out; no clock, deterministic, nothing kept.
 *
 * A problem has samples: independent attempts of one model, or existing solutions. A sample
 * *counts* unless nobody could judge it: where the machine, the judge or the task was at fault it
 * says nothing about its model. All shares are over ALL problems of the suite: one without a
 * correct sample, or without any, counts as unsolved.
 *
 *   fast_p   share of problems with a correct sample that is more than p times as fast as the
 * baseline, strictly (KernelBench, Ouyang et al. 2025, arXiv 2502.10517, section 3). fast_0 is the
 * share of problems that are solved. With several samples: of k drawn at random, as pass@k. pass@k
 * chance that of k samples drawn without replacement from the n of a problem, c of which are
 * correct, at least one is: 1 - C(n-c, k) / C(n, k), the unbiased estimator of Chen et al. 2021,
 * arXiv 2107.03374, section 2.1, equation 1.
 *
 * Intervals are percentiles of a bootstrap (Efron 1979) that draws problems, not samples: samples
 * of one problem resemble each other. Fewer than two problems give none: low and high are NaN.
 */
#ifndef KFORGE_SCORE_H
#define KFORGE_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/stats.h"
#include "kforge/verdict.h"

typedef struct kf_score_sample {
    bool counts; /* false: machine, judge or task were at fault, or it was not judged */
    bool compiled, correct, cheating;
    double speedup; /* NaN unless correct and timed */
} kf_score_sample;

typedef struct kf_score_problem {
    const kf_score_sample *samples; /* borrowed, in the order drawn */
    size_t count;
} kf_score_problem;

typedef struct kf_score_options {
    size_t resamples;  /* 0: 2000 */
    uint64_t seed;     /* of the draws: the same seed gives the same interval */
    double confidence; /* 0: 0.95 */
} kf_score_options;

/* A sample with a verdict. Cheating and impossible ones (faster than the device can move the data)
 * are not correct; only the former are called cheats. */
kf_score_sample kf_score_of(kf_status status, kf_blame blame, double speedup);
/* A reply that holds no candidate: it counts, and compiles as little as one that does not compile.
 */
kf_score_sample kf_score_no_candidate(void);

/* Of n samples, c of them good. Fewer than k samples: whether any is good. */
double kf_score_pass_at(size_t n, size_t c, size_t k);

typedef struct kf_score {
    /* with a correct sample; with one that is more than 1.0 times as fast */
    size_t problems, solved, faster;
    size_t samples, voided; /* that count, that do not */
    size_t least_samples;   /* that count, of the problem with the fewest */
    size_t compiled, correct, cheating;
    /* of the samples that count; NaN for none */
    kf_interval compile_rate, correct_rate, cheat_rate;
    /* speedup of the best correct sample of each solved problem; NaN for none */
    kf_interval geometric_mean, median;
} kf_score;

kf_score kf_score_suite(const kf_score_problem *problems, size_t count,
                        const kf_score_options *options);
/* fast_p for k samples a problem; p >= 0. */
kf_interval kf_score_fast(const kf_score_problem *problems, size_t count, double p, size_t k,
                          const kf_score_options *options);
/* pass@k = fast_0 for k. */
kf_interval kf_score_pass(const kf_score_problem *problems, size_t count, size_t k,
                          const kf_score_options *options);
/* Speedup of the best correct sample; NaN for none. `which` (may be NULL) gets its position. */
double kf_score_best(const kf_score_problem *problem, size_t *which);

/* Two results on the same problems: the geometric mean of after / before over problems that both
 * solved, with its interval by drawing problems. Pairs with a NaN are left out; *used (may be NULL)
 * says how many were not. */
kf_interval kf_score_ratio(const double *before, const double *after, size_t count,
                           const kf_score_options *options, size_t *used);
/* The mean of `count` differences with its interval. NaN where there are none. */
kf_interval kf_score_mean(const double *values, size_t count, const kf_score_options *options);

/* The bootstrap behind all of them. `statistic` gets positions drawn with replacement out of 0 …
 * count-1; a NaN is left out of the percentiles. `value` of the result is the statistic of every
 * position once. No memory: NaN. */
typedef double (*kf_score_statistic)(const void *context, const size_t *drawn, size_t count);
kf_interval kf_score_bootstrap(kf_score_statistic statistic, const void *context, size_t count,
                               const kf_score_options *options);

#endif
