/* Scores of a benchmark: the share of solved problems, their speedups, and intervals for both. Pure
 * and deterministic: arrays in, numbers out.
 *
 * A problem has samples: independent attempts of one model, or existing solutions. A sample counts
 * unless the machine, the judge or the task was at fault, because then it says nothing about its
 * model. All shares are over all problems of the suite. A problem without a correct sample is
 * unsolved.
 *
 *   fast_p   Share of problems with a correct sample that is more than p times as fast as the
 *            baseline (KernelBench, Ouyang et al. 2025, arXiv 2502.10517, section 3). fast_0 is the
 *            share of solved problems. With several samples: of k drawn at random, as pass@k.
 *   pass@k   Chance that at least one of k samples is correct, drawn without replacement from the n
 *            of a problem, of which c are correct: 1 - C(n-c, k) / C(n, k). This is the unbiased
 *            estimator of Chen et al. 2021, arXiv 2107.03374, section 2.1, equation 1.
 *
 * fast_p and pass@k have the interval of Clopper and Pearson (1934). Of n problems with the sum s
 * of their shares, it goes from the 2.5 % quantile of Beta(s, n - s + 1) to the 97.5 % quantile of
 * Beta(s + 1, n - s). With one sample a problem s is a count, and the interval is exact. Else s may
 * be a fraction, and the interval is wider than it has to be. A larger s never lowers an end. So
 * a stricter p never has a higher upper limit.
 *
 * Rates have that interval of samples: 0 of 12 is [0, 0.26]. If a problem has several samples, each
 * end is the outer one of that interval and of a bootstrap's. Other intervals are percentiles of
 * a bootstrap (Efron 1979). It draws problems, not samples, because samples of one problem resemble
 * each other. With fewer than two problems low and high are NaN.
 */
#ifndef KFORGE_SCORE_H
#define KFORGE_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/stats.h"
#include "kforge/verdict.h"

typedef struct kf_score_sample {
    /* false: machine, judge or task were at fault, or it was not judged */
    bool counts;
    bool compiled, correct, cheating;
    /* NaN unless correct and timed */
    double speedup;
} kf_score_sample;

typedef struct kf_score_problem {
    /* borrowed, in the order drawn */
    const kf_score_sample *samples;
    size_t count;
} kf_score_problem;

typedef struct kf_score_options {
    /* 0: 2000 */
    size_t resamples;
    /* the same seed gives the same interval */
    uint64_t seed;
    /* 0: 0.95 */
    double confidence;
} kf_score_options;

/* Makes a sample from a verdict. Cheating and impossible candidates (faster than the device can
 * move the data) are not correct. Only the former count as cheating. */
kf_score_sample kf_score_of(kf_status status, kf_blame blame, double speedup);
/* Makes a sample for a reply without a candidate. It counts, like one that does not compile. */
kf_score_sample kf_score_no_candidate(void);

/* Returns pass@k for n samples of which c are good. With fewer than k samples: 1 if any is good,
 * else 0. */
double kf_score_pass_at(size_t n, size_t c, size_t k);

typedef struct kf_score {
    /* solved: with a correct sample; faster: with one that is faster than the baseline */
    size_t problems, solved, faster;
    /* samples that count, and those that do not */
    size_t samples, voided;
    /* samples that count, of the problem with the fewest */
    size_t least_samples;
    size_t compiled, correct, cheating;
    /* of the samples that count; NaN without samples */
    kf_interval compile_rate, correct_rate, cheat_rate;
    /* speedup of the best correct sample of each solved problem; NaN without solved problems */
    kf_interval geometric_mean, median;
} kf_score;

kf_score kf_score_suite(const kf_score_problem *problems, size_t count,
                        const kf_score_options *options);
/* Returns fast_p for k samples a problem; p >= 0. */
kf_interval kf_score_fast(const kf_score_problem *problems, size_t count, double p, size_t k,
                          const kf_score_options *options);
/* Returns pass@k, which is fast_0 for k samples. */
kf_interval kf_score_pass(const kf_score_problem *problems, size_t count, size_t k,
                          const kf_score_options *options);
/* Returns the speedup of the best correct sample, NaN without a correct one. `which` (may be NULL)
 * gets its position. */
double kf_score_best(const kf_score_problem *problem, size_t *which);

/* Compares two results on the same problems: the geometric mean of after / before over problems
 * that both solved. Pairs with a NaN are left out; *used (may be NULL) gets the number of the
 * others. */
kf_interval kf_score_ratio(const double *before, const double *after, size_t count,
                           const kf_score_options *options, size_t *used);
/* Returns the mean of `count` differences with its interval. NaN if `count` is 0. */
kf_interval kf_score_mean(const double *values, size_t count, const kf_score_options *options);

/* The bootstrap of the functions above. `statistic` gets positions drawn with replacement out of 0
 * … count-1. Its NaN results are left out of the percentiles. `value` of the result is the
 * statistic of each position once. NaN without memory. */
typedef double (*kf_score_statistic)(const void *context, const size_t *drawn, size_t count);
kf_interval kf_score_bootstrap(kf_score_statistic statistic, const void *context, size_t count,
                               const kf_score_options *options);

#endif
