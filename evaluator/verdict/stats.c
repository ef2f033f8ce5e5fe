/* Robust statistics of few samples with heavy tails.
 *
 * Interval of a median (David and Nagaraja, "Order Statistics", 3rd ed., 7.1): B ~ Binomial(n, 1/2)
 * samples are below the true median. For every distribution, [x_(k), x_(n+1-k)] misses the median
 * with probability 2 P(B <= k-1). The largest k for which that is at most 1 - confidence gives the
 * shortest such interval.
 *
 * Correlation: timings drift, so neighbouring pairs are not independent. The model is a first-order
 * autoregressive normal process, of which only the signs count (above or below the median). Signs
 * of normals with correlation p have correlation r = (2/pi) asin p (Sheppard 1899). So the lag-1
 * correlation of the signs gives p, and lag k has p^k. The variance of the sum of n signs is about
 * n (1 + 2 sum_k (2/pi) asin p^k). The ranks move outward from the middle by the square root of
 * that factor. The estimate of r has a bias of about -(1+3r)/n on a centred series (Marriott and
 * Pope 1954), which is added back. Negative r does not narrow the interval.
 */
#include "kforge/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"

static const kf_interval unknown = {NAN, NAN, NAN};

int kf_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

/* Returns a sorted copy; the caller frees. NULL if count is 0, a sample is NaN, or there is no
 * memory. */
static double *sorted_copy(const double *values, size_t count)
{
    if (count == 0) return NULL;
    for (size_t i = 0; i < count; i++)
        if (isnan(values[i])) return NULL;
    double *copy = calloc(count, sizeof *copy);
    if (!copy) return NULL;
    memcpy(copy, values, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, kf_compare_doubles);
    return copy;
}

/* Returns the quantile of Hyndman and Fan (1996), definition 7: linear between the order
 * statistics; q = 0 and q = 1 are the extremes. */
static double sorted_quantile(const double *sorted, size_t count, double q)
{
    double position = q * (double)(count - 1);
    size_t below = (size_t)position;
    if (below + 1 >= count) return sorted[count - 1];
    double fraction = position - (double)below;
    /* also avoids inf - inf */
    if (fraction == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
    return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

double kf_quantile(const double *values, size_t count, double q)
{
    if (!(q >= 0 && q <= 1)) return NAN;
    kf_autofree double *sorted = sorted_copy(values, count);
    return sorted ? sorted_quantile(sorted, count, q) : NAN;
}

double kf_median(const double *values, size_t count)
{
    return kf_quantile(values, count, 0.5);
}

double kf_mad(const double *values, size_t count)
{
    double median = kf_median(values, count);
    if (isnan(median)) return NAN;
    kf_autofree double *deviations = calloc(count, sizeof *deviations);
    if (!deviations) return NAN;
    for (size_t i = 0; i < count; i++)
        deviations[i] = values[i] == median ? 0 : fabs(values[i] - median);
    /* 1.4826 = 1 / (third quartile of the standard normal) */
    return 1.4826 * kf_median(deviations, count);
}

/* Returns the largest k with 2 P(Binomial(count, 1/2) <= k-1) <= 1 - confidence, 0 if there is no
 * such k. Sums in log space, because 2^-count underflows. */
static size_t sign_test_rank(size_t count, double confidence)
{
    /* log of C(count, k) / 2^count at k = 0 */
    double log_term = -(double)count * 0.69314718055994530942, tail = 0;
    for (size_t k = 0; k < count / 2; k++) {
        tail += exp(log_term);
        if (2 * tail > 1 - confidence) return k;
        log_term += log((double)(count - k) / (double)(k + 1));
    }
    return count / 2;
}

static kf_interval interval_at_rank(const double *sorted, size_t count, size_t rank)
{
    kf_interval interval = {sorted_quantile(sorted, count, 0.5), NAN, NAN};
    if (rank == 0) return interval;
    interval.low = sorted[rank - 1];
    interval.high = sorted[count - rank];
    return interval;
}

kf_interval kf_median_interval(const double *values, size_t count, double confidence)
{
    kf_autofree double *sorted = sorted_copy(values, count);
    if (!sorted) return unknown;
    return interval_at_rank(sorted, count, sign_test_rank(count, confidence));
}

/* Returns the factor by which correlation increases the variance of the sum of signs, 1 without
 * evidence of correlation. */
static double sign_variance_inflation(const double *values, size_t count, double median)
{
    double products = 0, squares = 0, previous = 0;
    for (size_t i = 0; i < count; i++) {
        /* 0 for a value equal to the median */
        double sign = (values[i] > median) - (values[i] < median);
        products += sign * previous;
        squares += sign * sign;
        previous = sign;
    }
    if (squares == 0) return 1;
    double r = products / squares;
    r += (1 + 3 * fmax(r, 0)) / (double)count;
    /* Within half a standard error of 0 there is no correction. It would widen the interval of half
     * of all independent series without need. */
    if (r < 0.5 / sqrt((double)count)) return 1;
    double latent = sin(1.5707963267948966 * fmin(r, 0.8)), power = latent, sum = 0;
    for (int lag = 1; lag < 100 && (size_t)lag < count; lag++, power *= latent)
        sum += 0.63661977236758134 * asin(power);
    return 1 + 2 * sum;
}

kf_interval kf_speedup(const double *baseline, const double *candidate, size_t count,
                       double confidence)
{
    kf_autofree double *ratios = calloc(count ? count : 1, sizeof *ratios);
    if (!ratios) return unknown;
    for (size_t i = 0; i < count; i++) {
        double b = baseline[i] < 0 ? 0 : baseline[i], c = candidate[i] < 0 ? 0 : candidate[i];
        /* 0/0 gives NaN */
        ratios[i] = b / c;
    }
    kf_autofree double *sorted = sorted_copy(ratios, count);
    if (!sorted) return unknown;
    size_t rank = sign_test_rank(count, confidence);
    double inflation = sign_variance_inflation(ratios, count, sorted_quantile(sorted, count, 0.5));
    if (rank > 0 && inflation > 1) {
        double middle = (double)(count + 1) / 2, reach = (middle - (double)rank) * sqrt(inflation);
        rank = reach >= middle - 1 ? 1 : (size_t)(middle - reach);
    }
    return interval_at_rank(sorted, count, rank);
}

kf_interval kf_speedup_widen(kf_interval speedup, double baseline_batch, double candidate_batch,
                             double cost_uncertainty)
{
    double baseline = cost_uncertainty / baseline_batch,
           candidate = cost_uncertainty / candidate_batch, factor = fabs(baseline - candidate);
    if (!(factor >= 0 && baseline_batch > 0 && candidate_batch > 0))
        return (kf_interval){speedup.value, NAN, NAN};
    if (candidate > baseline)
        speedup.low *= (1 + baseline) / (1 + candidate);
    else
        speedup.low *= factor < 1 ? 1 - factor : 0;
    speedup.high *= 1 + factor;
    return speedup;
}

kf_interval kf_speedup_combine(const kf_interval *speedups, size_t count)
{
    if (count == 0) return unknown;
    double sum = 0, below = 0, above = 0;
    for (size_t i = 0; i < count; i++) {
        double center = log(speedups[i].value), down = center - log(speedups[i].low),
               up = log(speedups[i].high) - center;
        sum += center;
        below += down * down;
        above += up * up;
    }
    double mean = sum / (double)count;
    return (kf_interval){exp(mean), exp(mean - sqrt(below) / (double)count),
                         exp(mean + sqrt(above) / (double)count)};
}

bool kf_stopping_look(const kf_stopping_rule *rule, size_t pairs)
{
    size_t look = rule->least_pairs ? rule->least_pairs : 1;
    while (look < pairs) look += look / 4 + (look % 4 != 0);
    return look == pairs;
}

bool kf_stop_measuring(const kf_stopping_rule *rule, const kf_interval *speedup, size_t pairs,
                       double elapsed_seconds)
{
    if (pairs >= rule->most_pairs || !(elapsed_seconds < rule->seconds)) return true;
    if (!kf_stopping_look(rule, pairs)) return false;
    /* NaN gives false */
    return (speedup->high - speedup->low) / 2 <= rule->half_width * speedup->value;
}
