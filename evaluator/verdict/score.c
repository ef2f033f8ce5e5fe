/* Every score is a statistic of a list of problems. Shares of problems have exact intervals, all
 * others those of one bootstrap. */
#include "kforge/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"

#define RESAMPLES 2000
#define CONFIDENCE 0.95

/* ---- samples --------------------------------------------------------------------------------- */

kf_score_sample kf_score_of(kf_status status, kf_blame blame, double speedup)
{
    kf_score_sample sample = {.speedup = NAN};
    sample.counts = blame == KF_BLAME_CANDIDATE || blame == KF_BLAME_NOBODY;
    if (!sample.counts) return sample;
    sample.compiled =
        status != KF_COMPILE_ERROR && status != KF_UNSUPPORTED_DEVICE && status != KF_JUDGE_ERROR;
    sample.correct = status == KF_CORRECT;
    sample.cheating = status == KF_CHEATING;
    if (sample.correct && speedup > 0) sample.speedup = speedup;
    return sample;
}

kf_score_sample kf_score_no_candidate(void)
{
    return (kf_score_sample){.counts = true, .speedup = NAN};
}

double kf_score_best(const kf_score_problem *problem, size_t *which)
{
    double best = NAN;
    for (size_t i = 0; i < problem->count; i++) {
        const kf_score_sample *sample = &problem->samples[i];
        if (!sample->counts || !sample->correct ||
            !(isnan(best) ? sample->speedup > 0 : sample->speedup > best))
            continue;
        best = sample->speedup;
        if (which) *which = i;
    }
    return best;
}

/* Computes C(n-c,k) / C(n,k) as the product of (1 - k/i) for i = n-c+1 … n, because the binomials
 * overflow. */
double kf_score_pass_at(size_t n, size_t c, size_t k)
{
    double none = 1;
    if (k == 0 || c == 0) return 0;
    if (n < k || n - c < k) return 1;
    for (size_t i = n - c + 1; i <= n; i++) none *= 1 - (double)k / (double)i;
    return 1 - none;
}

/* ---- the bootstrap --------------------------------------------------------------------------- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

kf_interval kf_score_bootstrap(kf_score_statistic statistic, const void *context, size_t count,
                               const kf_score_options *options)
{
    kf_interval none = {NAN, NAN, NAN}, interval = none;
    size_t resamples = options && options->resamples ? options->resamples : RESAMPLES, used = 0;
    double confidence = options && options->confidence > 0 ? options->confidence : CONFIDENCE;
    if (count == 0 || count > SIZE_MAX / sizeof(size_t)) return none;
    kf_autofree size_t *drawn = malloc(count * sizeof *drawn);
    kf_autofree double *values = calloc(resamples, sizeof *values);
    if (!drawn || !values) return none;
    for (size_t i = 0; i < count; i++) drawn[i] = i;
    interval.value = statistic(context, drawn, count);
    if (count < 2 || isnan(interval.value)) return interval;
    uint64_t state = options ? options->seed : 0;
    for (size_t r = 0; r < resamples; r++) {
        for (size_t i = 0; i < count; i++)
            drawn[i] = (size_t)(((unsigned __int128)next_random(&state) * count) >> 64);
        double value = statistic(context, drawn, count);
        if (!isnan(value)) values[used++] = value;
    }
    if (used < 2) return interval;
    interval.low = kf_quantile(values, used, (1 - confidence) / 2);
    interval.high = kf_quantile(values, used, (1 + confidence) / 2);
    return interval;
}

static double mean_of(const void *context, const size_t *drawn, size_t count)
{
    const double *values = context;
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[drawn[i]];
    return sum / (double)count;
}

static double exp_mean_of(const void *context, const size_t *drawn, size_t count)
{
    return exp(mean_of(context, drawn, count));
}

typedef struct picked {
    const double *values;
    /* room for as many values */
    double *scratch;
} picked;

static double median_of(const void *context, const size_t *drawn, size_t count)
{
    const picked *p = context;
    for (size_t i = 0; i < count; i++) p->scratch[i] = p->values[drawn[i]];
    return kf_median(p->scratch, count);
}

/* ---- exact intervals ------------------------------------------------------------------------- */

#define FRACTION_TERMS 10000
#define BISECTIONS 60
/* Sums of shares within this of 0 or of the number of trials are taken as 0 or as that number. */
#define ROUNDING 1e-9

static double apart_from_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* Returns the regularized incomplete beta function I_x(a, b): its continued fraction (NIST DLMF
 * 8.17.22) by Lentz's method, on the side of x where that converges fast. */
static double beta_share(double x, double a, double b)
{
    if (!(x > 0)) return 0;
    if (!(x < 1)) return 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - beta_share(1 - x, b, a);
    int sign;
    double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
                       a * log(x) + b * log1p(-x)) /
                   a;
    double value = 1, c = 1, d = 0;
    for (int i = 1; i < FRACTION_TERMS; i++) {
        double m = floor(i / 2.0);
        double term = i % 2 ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                            : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / apart_from_zero(1 + term * d);
        c = apart_from_zero(1 + term / c);
        value *= c * d;
        if (fabs(c * d - 1) < 1e-14) break;
    }
    return front / value;
}

/* Returns the quantile of the beta distribution. */
static double beta_quantile(double share, double a, double b)
{
    double low = 0, high = 1;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        *(beta_share(middle, a, b) < share ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* Returns the share of `trials` that succeeded with the interval of Clopper and Pearson. */
static kf_interval exact_share(double successes, size_t trials, const kf_score_options *options)
{
    double confidence = options && options->confidence > 0 ? options->confidence : CONFIDENCE,
           n = (double)trials, tail = (1 - confidence) / 2;
    bool none = successes<ROUNDING, all = successes> n - ROUNDING;
    kf_interval share = {successes / n, 0, 1};
    if (!none) share.low = beta_quantile(tail, successes, n - successes + 1);
    if (!all) share.high = beta_quantile(1 - tail, successes + 1, n - successes);
    return share;
}

typedef struct share {
    const double *part, *whole;
} share;

/* Returns the ratio of two sums, so problems with more samples have more weight. */
static double share_of(const void *context, const size_t *drawn, size_t count)
{
    const share *s = context;
    double part = 0, whole = 0;
    for (size_t i = 0; i < count; i++) part += s->part[drawn[i]], whole += s->whole[drawn[i]];
    return whole > 0 ? part / whole : NAN;
}

static kf_interval rate_of(const double *part, const double *whole, size_t count,
                           const kf_score_options *options)
{
    double successes = 0, trials = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        successes += part[i], trials += whole[i];
        most = fmax(most, whole[i]);
    }
    kf_interval drawn = kf_score_bootstrap(share_of, &(share){part, whole}, count, options);
    if (isnan(drawn.low)) return drawn;
    kf_interval exact = exact_share(successes, (size_t)trials, options);
    if (most <= 1) return exact;
    return (kf_interval){exact.value, fmin(drawn.low, exact.low), fmax(drawn.high, exact.high)};
}

kf_interval kf_score_mean(const double *values, size_t count, const kf_score_options *options)
{
    return kf_score_bootstrap(mean_of, values, count, options);
}

kf_interval kf_score_ratio(const double *before, const double *after, size_t count,
                           const kf_score_options *options, size_t *used)
{
    size_t pairs = 0;
    kf_autofree double *logs = calloc(count ? count : 1, sizeof *logs);
    for (size_t i = 0; i < count && logs; i++)
        if (before[i] > 0 && after[i] > 0) logs[pairs++] = log(after[i] / before[i]);
    if (used) *used = pairs;
    return logs ? kf_score_bootstrap(exp_mean_of, logs, pairs, options)
                : (kf_interval){NAN, NAN, NAN};
}

/* ---- scores ---------------------------------------------------------------------------------- */

static bool is_faster(const kf_score_sample *sample, double p)
{
    return sample->counts && sample->correct && (p <= 0 || sample->speedup > p);
}

kf_interval kf_score_fast(const kf_score_problem *problems, size_t count, double p, size_t k,
                          const kf_score_options *options)
{
    double solved = 0;
    if (!count) return (kf_interval){NAN, NAN, NAN};
    for (size_t i = 0; i < count; i++) {
        size_t n = 0, good = 0;
        for (size_t j = 0; j < problems[i].count; j++) {
            n += problems[i].samples[j].counts;
            good += is_faster(&problems[i].samples[j], p);
        }
        solved += kf_score_pass_at(n, good, k);
    }
    return count > 1 ? exact_share(solved, count, options) : (kf_interval){solved, NAN, NAN};
}

kf_interval kf_score_pass(const kf_score_problem *problems, size_t count, size_t k,
                          const kf_score_options *options)
{
    return kf_score_fast(problems, count, 0, k, options);
}

/* Sums over the samples of each problem. */
typedef struct sums {
    double *counts, *compiled, *correct, *cheating, *best, *logs, *scratch;
} sums;

static void add_problem(kf_score *score, const kf_score_problem *problem, size_t index, sums *s)
{
    bool correct = false;
    size_t counts = 0;
    for (size_t j = 0; j < problem->count; j++) {
        const kf_score_sample *sample = &problem->samples[j];
        score->voided += !sample->counts;
        if (!sample->counts) continue;
        counts++;
        s->compiled[index] += sample->compiled;
        s->correct[index] += sample->correct;
        s->cheating[index] += sample->cheating;
        correct |= sample->correct;
    }
    s->counts[index] = (double)counts;
    score->samples += counts;
    score->compiled += (size_t)s->compiled[index];
    score->correct += (size_t)s->correct[index];
    score->cheating += (size_t)s->cheating[index];
    if (index == 0 || counts < score->least_samples) score->least_samples = counts;
    score->solved += correct;
}

kf_score kf_score_suite(const kf_score_problem *problems, size_t count,
                        const kf_score_options *options)
{
    const kf_interval none = {NAN, NAN, NAN};
    kf_score score = {.problems = count,
                      .compile_rate = none,
                      .correct_rate = none,
                      .cheat_rate = none,
                      .geometric_mean = none,
                      .median = none};
    kf_autofree double *memory = calloc(count ? 7 * count : 1, sizeof *memory);
    if (!memory || !count) return score;
    sums s = {memory,
              memory + count,
              memory + 2 * count,
              memory + 3 * count,
              memory + 4 * count,
              memory + 5 * count,
              memory + 6 * count};
    size_t timed = 0;
    for (size_t i = 0; i < count; i++) {
        add_problem(&score, &problems[i], i, &s);
        double best = kf_score_best(&problems[i], NULL);
        if (isnan(best)) continue;
        score.faster += best > 1;
        s.best[timed] = best;
        s.logs[timed++] = log(best);
    }
    score.compile_rate = rate_of(s.compiled, s.counts, count, options);
    score.correct_rate = rate_of(s.correct, s.counts, count, options);
    score.cheat_rate = rate_of(s.cheating, s.counts, count, options);
    score.geometric_mean = kf_score_bootstrap(exp_mean_of, s.logs, timed, options);
    score.median = kf_score_bootstrap(median_of, &(picked){s.best, s.scratch}, timed, options);
    return score;
}
