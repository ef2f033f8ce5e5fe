/* Errors of an output against the oracle's, and the decision by them. compare.h has the formulas.
 *
 * A loop without branches sums blocks of elements as doubles. If a block has a value that is not
 * finite, or an expected value beyond the type's range, another loop handles it element by element.
 * Only an output that fails gets a second pass, which counts and locates the wrong elements. Each
 * comparison is written so that a NaN fails it.
 */
#include "kforge/compare.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_formula.h"
#include "dtype_bulk.h"
#include "kforge/cleanup.h"
#include "kforge/stats.h"
#include "mismatches.h"
#include "multiversion.h"

#define BLOCK 512
#define LANES 8

/* ---- one element ----------------------------------------------------------------------------- */

static bool comparable(kf_dtype dtype, double *got, double *expected)
{
    return kf_comparable(kf_dtype_largest(dtype), kf_dtype_roundoff(dtype), dtype == KF_F8E4M3, got,
                         expected);
}

/* Returns the distance of two 64-bit integers without rounding them to doubles first. */
static double integer_distance(const void *got, const void *expected, int64_t index)
{
    int64_t a, b;
    memcpy(&a, (const char *)got + 8 * index, 8);
    memcpy(&b, (const char *)expected + 8 * index, 8);
    uint64_t distance = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return (double)distance;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Written as vectors, because gcc 12 keeps a loop over lanes in scalar registers. */
typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t lane_bits __attribute__((vector_size(8 * LANES)));

typedef struct block_sums {
    lanes square, max, scale_square, scale_max, odd;
} block_sums;

/* Sums `count` elements, a multiple of LANES. `odd` becomes NaN or positive in a lane with a value
 * that is not finite or out of range. */
KF_BODY sum_block_body(const double *restrict got, const double *restrict expected, int count,
                       double largest, block_sums *restrict sums)
{
    const lane_bits magnitude = (lane_bits){0} + INT64_MAX, one = (lane_bits)((lanes){0} + 1.0);
    const lanes most = (lanes){0} + largest;
    block_sums s = {0};
    for (int i = 0; i < count; i += LANES) {
        lanes g, e;
        memcpy(&g, got + i, sizeof g);
        memcpy(&e, expected + i, sizeof e);
        lanes d = (lanes)((lane_bits)(g - e) & magnitude),
              scale = (lanes)((lane_bits)e & magnitude);
        lane_bits higher = d > s.max, larger = scale > s.scale_max, beyond = scale > most;
        s.square += d * d;
        s.max = (lanes)((higher & (lane_bits)d) | (~higher & (lane_bits)s.max));
        s.scale_square += e * e;
        s.scale_max = (lanes)((larger & (lane_bits)scale) | (~larger & (lane_bits)s.scale_max));
        /* Infinity and NaN make NaN. */
        s.odd += d * (lanes){0} + (lanes)(beyond & one);
    }
    *sums = s;
}
KF_MULTIVERSION(sum_block,
                (const double *restrict got, const double *restrict expected, int count,
                 double largest, block_sums *restrict sums),
                (got, expected, count, largest, sums))

static bool add_block(const double *got, const double *expected, int count, double largest,
                      kf_error_sums *sums)
{
    block_sums s;
    sum_block(got, expected, count, largest, &s);
    for (int l = 0; l < LANES; l++)
        if (!(s.odd[l] == 0)) return false;
    for (int l = 0; l < LANES; l++) {
        sums->sum_square += s.square[l];
        sums->max = fmax(sums->max, s.max[l]);
        sums->scale_square += s.scale_square[l];
        sums->scale_max = fmax(sums->scale_max, s.scale_max[l]);
    }
    return true;
}

/* True if an element is a fill and right. */
static bool is_right_fill(double got, double expected, double fill, double fill_error)
{
    return fill > 0 && fabs(expected) >= fill && fabs(got - expected) <= fill_error;
}

static void add_element(kf_dtype dtype, double got, double expected, int64_t index,
                        kf_error_sums *sums)
{
    double scale = kf_scale_of(kf_dtype_largest(dtype), expected);
    if (is_right_fill(got, expected, sums->fill, sums->fill_error)) return;
    if (sums->fill > 0 && scale >= sums->fill) scale = 0;
    if (!comparable(dtype, &got, &expected)) {
        if (sums->nonfinite++ == 0) sums->first_nonfinite = index;
        return;
    }
    double error = fabs(got - expected);
    sums->sum_square += error * error;
    sums->max = fmax(sums->max, error);
    sums->scale_square += scale * scale;
    sums->scale_max = fmax(sums->scale_max, scale);
}

/* Begins to load the block that follows. Outputs come from memory rather than from a cache. */
static void prefetch(const void *data, size_t bytes)
{
    for (size_t at = bytes; at < 2 * bytes; at += 64) __builtin_prefetch((const char *)data + at);
}

/* Loads elements of the output as doubles. Returns their expected values: of floating outputs
 * they are doubles already, others are loaded into `room`. */
static const double *load_block(const kf_problem_argument *argument, const void *data,
                                const void *expected, int64_t first, int count, double *got,
                                double *room)
{
    size_t size = kf_dtype_size(argument->dtype);
    const char *outputs = (const char *)data + (size_t)first * size;
    prefetch(outputs, (size_t)count * size);
    kf_load_doubles(argument->dtype, outputs, (size_t)count, got);
    if (kf_dtype_is_float(argument->dtype)) {
        prefetch((const double *)expected + first, (size_t)count * sizeof(double));
        return (const double *)expected + first;
    }
    kf_load_doubles(argument->dtype, (const char *)expected + (size_t)first * size, (size_t)count,
                    room);
    return room;
}

static void add_wide_integers(const void *data, const void *expected, int64_t first, int64_t count,
                              kf_error_sums *sums)
{
    for (int64_t i = first; i < first + count; i++) {
        double error = integer_distance(data, expected, i),
               scale = fabs(kf_dtype_load(KF_I64, (const char *)expected + 8 * i));
        sums->sum_square += error * error;
        sums->max = fmax(sums->max, error);
        sums->scale_square += scale * scale;
        sums->scale_max = fmax(sums->scale_max, scale);
    }
}

static bool is_coarse(kf_dtype dtype)
{
    return dtype == KF_F8E4M3 || dtype == KF_F8E5M2;
}

/* Adds how far expected values are from the numbers that round to the outputs of 8 bits. */
static void add_beyond(kf_dtype dtype, const void *data, const double *expected, int64_t first,
                       int count, kf_error_sums *sums)
{
    const uint8_t *bytes = (const uint8_t *)data + first;
    double sizes[128], largest = kf_dtype_largest(dtype);
    for (int b = 0; b < 128; b++) sizes[b] = kf_dtype_load(dtype, &(uint8_t){(uint8_t)b});
    for (int i = 0; i < count; i++) {
        int b = bytes[i] & 0x7f;
        double size = sizes[b], truth = bytes[i] & 0x80 ? -expected[i] : expected[i];
        if (!(size <= largest) || !(fabs(truth) <= largest)) continue;
        if (b == 0) truth = fabs(truth);
        double next = size < largest ? sizes[b + 1] : INFINITY,
               low = b ? (sizes[b - 1] + size) / 2 : 0, high = (size + next) / 2,
               nearest = fmax(fmax(low - truth, truth - high), 0),
               zero = fmax(fmax(size - truth, truth - next), 0);
        sums->beyond_nearest += nearest * nearest;
        sums->beyond_zero += zero * zero;
    }
}

void kf_error_accumulate_part(const kf_problem_argument *argument, const void *data,
                              const void *expected, int64_t first, int64_t count,
                              kf_error_sums *sums)
{
    double got[BLOCK], room[BLOCK], largest = kf_dtype_largest(argument->dtype);
    sums->count += count;
    if (argument->dtype == KF_I64) {
        add_wide_integers(data, expected, first, count, sums);
        return;
    }
    while (count > 0) {
        int take = count < BLOCK ? (int)count : BLOCK;
        const double *truth = load_block(argument, data, expected, first, take, got, room);
        int whole = take - take % LANES;
        if (sums->fill > 0 || !add_block(got, truth, whole, largest, sums)) whole = 0;
        for (int i = whole; i < take; i++)
            add_element(argument->dtype, got[i], truth[i], first + i, sums);
        if (is_coarse(argument->dtype)) add_beyond(argument->dtype, data, truth, first, take, sums);
        first += take, count -= take;
    }
}

/* ---- fills ----------------------------------------------------------------------------------- */

/* Returns c of the formula in compare.h. */
static double order_allowance(kf_dtype dtype)
{
    switch (dtype) {
    case KF_F64: return 1024;
    case KF_F32: return 32;
    case KF_TF32: return 3;
    default: return 1;
    }
}

/* Returns c for the maximum. Two truncated tf32 operands err by 4 u of their product, which may be
 * nearly all of an element. */
static double order_allowance_max(kf_dtype dtype)
{
    return dtype == KF_TF32 ? 5 : order_allowance(dtype);
}

/* The formula is in compare.h. */
#define LEAST_FILL 1000
#define BELOW_EQUAL_FILLS 0x1p-8
#define BELOW_NEAR_FILLS 0x1p-20
#define NEAR_FILLS (1 - 0x1p-10)
/* A mask may be added, so that a fill errs by the number that it masks. */
#define FILL_ERROR 0x1p-16

bool kf_may_have_fills(const kf_problem_argument *argument, double largest, const double *sample,
                       int count)
{
    if (argument->tolerance.kind != KF_ERROR_RATIO || !kf_dtype_is_float(argument->dtype) ||
        !(largest >= LEAST_FILL))
        return false;
    for (int i = 0; i < count; i++) {
        double size = fabs(sample[i]);
        if (size > largest * BELOW_EQUAL_FILLS && size < largest * NEAR_FILLS) return false;
    }
    return true;
}

/* Returns true if the expected values have fills of about the magnitude `most`. */
static bool has_fills(const kf_problem_argument *argument, const double *expected, double most)
{
    double sample[KF_FILL_SAMPLE], least = most, others = 0;
    int64_t fills = 0;
    if (argument->elements < 2) return false;
    /* no regular distance, which a mask may have, too */
    for (uint64_t i = 0; i < KF_FILL_SAMPLE; i++)
        sample[i] =
            expected[(i * UINT64_C(0x9e3779b97f4a7c15) >> 11) % (uint64_t)argument->elements];
    if (!kf_may_have_fills(argument, most, sample, KF_FILL_SAMPLE)) return false;
    for (int64_t i = 0; i < argument->elements; i++) {
        double size = fabs(expected[i]);
        if (!(size <= most)) continue;
        if (size > most * BELOW_EQUAL_FILLS) {
            least = fmin(least, size);
            fills++;
        } else {
            others = fmax(others, size);
        }
    }
    return fills > 1 && others > 0 &&
           (least == most || (least >= most * NEAR_FILLS && others <= most * BELOW_NEAR_FILLS));
}

void kf_error_accumulate(const kf_problem_argument *argument, const void *data,
                         const void *expected, kf_error_sums *sums)
{
    kf_error_sums own = KF_NO_ERRORS;
    kf_error_accumulate_part(argument, data, expected, 0, argument->elements, &own);
    if (kf_dtype_is_float(argument->dtype) && has_fills(argument, expected, own.scale_max)) {
        kf_dtype dtype = argument->tf32 ? KF_TF32 : argument->dtype;
        double most = own.scale_max;
        own = KF_NO_ERRORS;
        own.fill = most * BELOW_EQUAL_FILLS;
        own.fill_error =
            fmax(fmax(2, order_allowance_max(dtype)) * kf_dtype_roundoff(dtype), FILL_ERROR) * most;
        kf_error_accumulate_part(argument, data, expected, 0, argument->elements, &own);
    }
    kf_error_merge(sums, &own);
    sums->fill = own.fill, sums->fill_error = own.fill_error;
}

void kf_error_merge(kf_error_sums *into, const kf_error_sums *from)
{
    into->sum_square += from->sum_square;
    into->max = fmax(into->max, from->max);
    into->scale_square += from->scale_square;
    into->scale_max = fmax(into->scale_max, from->scale_max);
    into->count += from->count;
    if (from->nonfinite && (into->nonfinite == 0 || into->first_nonfinite < 0))
        into->first_nonfinite = from->first_nonfinite;
    into->nonfinite += from->nonfinite;
    into->beyond_nearest += from->beyond_nearest;
    into->beyond_zero += from->beyond_zero;
    into->change_square += from->change_square;
    into->change_max = fmax(into->change_max, from->change_max);
    into->change_count += from->change_count;
    into->terms = fmax(into->terms, from->terms);
    into->integer_terms = fmax(into->integer_terms, from->integer_terms);
    into->one_way = fmax(into->one_way, from->one_way);
    into->least_scale = fmax(into->least_scale, from->least_scale);
    into->least_scale_max = fmax(into->least_scale_max, from->least_scale_max);
}

double kf_error_rms(const kf_error_sums *sums)
{
    return sums->count > 0 ? sqrt(sums->sum_square / (double)sums->count) : 0;
}
static double scale_rms(const kf_error_sums *sums)
{
    return sums->count > 0 ? sqrt(sums->scale_square / (double)sums->count) : 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Returns `tiny` of the formula: the smallest normal number if hardware may flush subnormals (f32
 * with fast-math), otherwise the smallest subnormal. */
static double flushable(kf_dtype dtype)
{
    switch (dtype) {
    case KF_F64: return DBL_MIN;
    case KF_F32:
    case KF_TF32:
    case KF_BF16: return FLT_MIN;
    case KF_F16: return 0x1p-24;
    case KF_F8E4M3: return 0x1p-9;
    case KF_F8E5M2: return 0x1p-16;
    default: return 0;
    }
}

/* Returns `ratio` times the baseline's RMS error. Every output of 16 or 8 bits is rounded once at
 * the end, which no order of summation makes worse. So for these types `ratio` multiplies only the
 * error beyond that rounding. The rounding is at most 0.58 u of the scale, if all values are at the
 * lower ends of their binades. */
static double allowed_by_baseline(const kf_problem_argument *argument,
                                  const kf_error_sums *baseline)
{
    double ratio = argument->tolerance.ratio, error = kf_error_rms(baseline);
    if (argument->dtype != KF_F16 && argument->dtype != KF_BF16 && !is_coarse(argument->dtype))
        return ratio * error;
    double rounding = fmin(error, 0.58 * kf_dtype_roundoff(argument->dtype) * scale_rms(baseline));
    return rounding + ratio * sqrt(fmax(error * error - rounding * rounding, 0));
}

void kf_error_limits(const kf_problem_argument *argument, const kf_error_sums *own,
                     const kf_error_sums *baseline, double *allowed_rms, double *allowed_max)
{
    kf_dtype dtype = argument->tf32 ? KF_TF32 : argument->dtype;
    double ratio = argument->tolerance.ratio, unit = kf_dtype_roundoff(dtype),
           tiny = flushable(dtype);
    *allowed_rms = (baseline ? allowed_by_baseline(argument, baseline) : 0) +
                   order_allowance(dtype) * unit * scale_rms(own) + tiny;
    *allowed_max = ratio * (baseline ? baseline->max : 0) +
                   order_allowance_max(dtype) * unit * own->scale_max + tiny;
    if (!baseline || !kf_condition_is_known(baseline) || argument->dtype == KF_F64) return;
    double v = kf_dtype_roundoff(KF_F32), terms = fmin(fmax(baseline->terms, 1), 0x1p18),
           root = sqrt(terms),
           one_sign = fmax(0.8 * root + 1.2e-5 * root * terms, fmin(baseline->one_way, 0x1p18)),
           change = baseline->change_count
                        ? sqrt(baseline->change_square / (double)baseline->change_count)
                        : 0;
    *allowed_rms += root * change + one_sign * v * fmax(scale_rms(own), baseline->least_scale);
    *allowed_max += root * baseline->change_max +
                    one_sign * v * fmax(own->scale_max, baseline->least_scale_max);
}

bool kf_is_inaccurate(const kf_problem_argument *argument, const kf_error_sums *own)
{
    return argument->tolerance.kind == KF_ERROR_RATIO && kf_dtype_is_float(argument->dtype) &&
           own->nonfinite == 0 && kf_error_rms(own) < scale_rms(own) / 64 &&
           own->max < own->scale_max / 16;
}

/* True if the output passes only because tf32 operands are allowed. */
static bool needs_tf32(const kf_problem_argument *argument, const kf_error_sums *own,
                       const kf_error_sums *baseline, const kf_error_figures *figures)
{
    if (!argument->tf32) return false;
    kf_problem_argument strict = *argument;
    double rms, max;
    strict.tf32 = false;
    kf_error_limits(&strict, own, baseline, &rms, &max);
    return figures->rms > rms || figures->max > max;
}

/* ---- the rule for one element, for counting mismatches --------------------------------------- */

/* The general form of all comparisons: |got - expected| <= min(cap, max(slope |expected| + base,
 * floor)). cap is finite, so that no infinite error passes. */
typedef struct rule {
    const kf_problem_argument *argument;
    const void *data, *expected;
    double cap, slope, base, floor;
    /* expected is first rounded to the output's type */
    bool rounded;
    /* of kf_error_sums */
    double fill, fill_error;
} rule;

/* Rounds a double to the output's type. */
static double as_stored(kf_dtype dtype, double value)
{
    uint64_t room = 0;
    kf_dtype_store(dtype, &room, value);
    return kf_dtype_load(dtype, &room);
}

/* True if an element passes. `largest` is that of the output's type. */
static bool element_passes(const rule *r, double largest, int64_t index, double got,
                           double expected)
{
    kf_dtype dtype = r->argument->dtype;
    double error;
    if (dtype == KF_I64) {
        error = integer_distance(r->data, r->expected, index);
    } else {
        if (r->rounded) expected = as_stored(dtype, expected);
        bool plain = fabs(got) <= DBL_MAX && fabs(expected) <= largest;
        if (!plain && !comparable(dtype, &got, &expected)) return false;
        error = fabs(got - expected);
        if (is_right_fill(got, expected, r->fill, r->fill_error)) return true;
    }
    double limit = r->slope * fabs(expected) + r->base;
    limit = limit > r->floor ? limit : r->floor;
    return error <= (limit < r->cap ? limit : r->cap);
}

/* Counts elements that fail the plain comparison. Some of them may still pass element_passes. */
KF_BODY count_failed_body(const double *restrict got, const double *restrict expected, int count,
                          const rule *r, int *failed)
{
    double cap = r->cap, slope = r->slope, base = r->base, least = r->floor;
    int bad = 0;
    for (int i = 0; i < count; i++) {
        double error = __builtin_fabs(got[i] - expected[i]),
               limit = slope * __builtin_fabs(expected[i]) + base;
        limit = limit > least ? limit : least;
        limit = limit < cap ? limit : cap;
        bad += error <= limit ? 0 : 1;
    }
    *failed = bad;
}
KF_MULTIVERSION(count_failed,
                (const double *restrict got, const double *restrict expected, int count,
                 const rule *r, int *failed),
                (got, expected, count, r, failed))

static bool block_passes(const rule *r, int64_t first, int count, const double *got,
                         const double *truth)
{
    if (r->argument->dtype == KF_I64)
        return memcmp((const int64_t *)r->data + first, (const int64_t *)r->expected + first,
                      (size_t)count * 8) == 0;
    int failed;
    count_failed(got, truth, count, r, &failed);
    return failed == 0;
}

/* True if all wrong elements are expected with one sign, and most of the others with another. */
static bool have_one_sign(const rule *r, const kf_mismatches *m)
{
    bool negative = m->count && m->signs.expected_negative == m->count,
         positive = m->count && m->signs.expected_positive == m->count;
    if (!negative && !positive) return false;
    double got[BLOCK], room[BLOCK];
    int64_t others = 0;
    for (int64_t first = 0; first < r->argument->elements; first += BLOCK) {
        int take =
            r->argument->elements - first < BLOCK ? (int)(r->argument->elements - first) : BLOCK;
        const double *truth = load_block(r->argument, r->data, r->expected, first, take, got, room);
        for (int i = 0; i < take; i++) others += negative ? truth[i] >= 0 : truth[i] <= 0;
    }
    return others > (r->argument->elements - m->count) / 2;
}

static kf_mismatches find_mismatches(const rule *r, double scale)
{
    kf_mismatches m = kf_mismatches_begin(r->argument, scale);
    double got[BLOCK], room[BLOCK], largest = kf_dtype_largest(r->argument->dtype);
    for (int64_t first = 0; first < r->argument->elements; first += BLOCK) {
        int take =
            r->argument->elements - first < BLOCK ? (int)(r->argument->elements - first) : BLOCK;
        const double *truth = load_block(r->argument, r->data, r->expected, first, take, got, room);
        if (block_passes(r, first, take, got, truth)) continue;
        for (int i = 0; i < take; i++)
            if (!element_passes(r, largest, first + i, got[i], truth[i]))
                kf_mismatch_add(&m, first + i, truth[i], got[i]);
    }
    m.signs.one = have_one_sign(r, &m);
    return m;
}

static void fill_mismatches(const kf_mismatches *m, kf_error_figures *figures)
{
    figures->mismatched = m->count;
    figures->first_index = m->first;
    figures->first_expected = m->first_expected;
    figures->first_got = m->first_got;
    figures->middle_index = m->middle;
    figures->last_index = m->last;
    kf_mismatches_describe(m, figures->pattern, sizeof figures->pattern);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Returns the RMS error of 8-bit outputs that are the expected values, each rounded towards zero.
 * Rounding to the nearest errs by less. */
static double truncation_rms(const kf_problem_argument *argument, const double *expected)
{
    double sum = 0, largest = kf_dtype_largest(argument->dtype);
    for (int64_t i = 0; i < argument->elements; i++) {
        uint8_t bits;
        if (!(fabs(expected[i]) <= largest)) continue;
        kf_dtype_store(argument->dtype, &bits, expected[i]);
        if (fabs(kf_dtype_load(argument->dtype, &bits)) > fabs(expected[i])) bits--;
        sum += pow(kf_dtype_load(argument->dtype, &bits) - expected[i], 2);
    }
    return argument->elements ? sqrt(sum / (double)argument->elements) : 0;
}

/* Lowers the limit of an 8-bit output to half a unit of the scale beyond one rounding. Of few
 * elements the baseline's error on other inputs says little, so a rounding of these very values
 * passes, too. */
static void lower_coarse_limit(const kf_problem_argument *argument, const double *expected,
                               double scale, kf_error_figures *figures)
{
    double lower = figures->allowed_rms - kf_dtype_roundoff(argument->dtype) * scale / 2;
    if (figures->rms > lower) lower = fmax(lower, 1.0625 * truncation_rms(argument, expected));
    figures->allowed_rms = fmin(figures->allowed_rms, lower);
}

/* Returns the RMS distance from the numbers that round to an 8-bit output, in the way of rounding
 * that fits better. */
static double beyond_rounding(const kf_error_sums *sums)
{
    return sums->count > 0
               ? sqrt(fmin(sums->beyond_nearest, sums->beyond_zero) / (double)sums->count)
               : 0;
}

/* True if the values of an 8-bit output were right before they were rounded. Otherwise makes that
 * distance the figures, and counts the elements that are not the nearest number. */
static bool is_right_unrounded(const kf_problem_argument *argument, const void *data,
                               const void *expected, const kf_error_sums *own,
                               const kf_error_sums *baseline, kf_error_figures *figures)
{
    double share = 1.0 / 16 + 1 / (8 * sqrt(fmax((double)own->count, 1))),
           allowed = share * (kf_dtype_roundoff(argument->dtype) * scale_rms(own) +
                              flushable(argument->dtype)) +
                     argument->tolerance.ratio * (baseline ? beyond_rounding(baseline) : 0),
           beyond = beyond_rounding(own);
    if (beyond <= allowed) return true;
    rule r = {.argument = argument, .data = data, .expected = expected, .rounded = true};
    kf_mismatches m = find_mismatches(&r, scale_rms(own));
    fill_mismatches(&m, figures);
    figures->rms = beyond;
    figures->allowed_rms = allowed;
    snprintf(figures->pattern, sizeof figures->pattern,
             "all over: values are off by more than their rounding");
    return false;
}

static bool judge_ratio(const kf_problem_argument *argument, const void *data, const void *expected,
                        const kf_error_sums *own, const kf_error_sums *baseline,
                        kf_error_figures *figures)
{
    double scale = scale_rms(own);
    kf_error_limits(argument, own, baseline, &figures->allowed_rms, &figures->allowed_max);
    bool coarse = is_coarse(argument->dtype);
    if (coarse) lower_coarse_limit(argument, expected, scale, figures);
    bool rms_passes = figures->rms <= figures->allowed_rms,
         max_passes = figures->max <= figures->allowed_max && own->nonfinite == 0;
    figures->tf32 = rms_passes && max_passes && needs_tf32(argument, own, baseline, figures);
    if (rms_passes && max_passes && !coarse) return true;
    figures->inaccurate = kf_is_inaccurate(argument, own);
    rule r = {.argument = argument,
              .data = data,
              .expected = expected,
              .cap = fmin(figures->allowed_max, DBL_MAX),
              .base = (double)INFINITY,
              .fill = own->fill,
              .fill_error = own->fill_error};
    if (coarse) {
        r.slope = 4 * kf_dtype_roundoff(argument->dtype);
        r.base = r.slope * scale;
        r.floor = 2 * (baseline ? baseline->max : 0) + flushable(argument->dtype);
    }
    kf_mismatches m = find_mismatches(&r, scale);
    if (m.count == 0 && rms_passes && max_passes)
        return is_right_unrounded(argument, data, expected, own, baseline, figures);
    fill_mismatches(&m, figures);
    /* One rounding of a large 8-bit value errs by more than the RMS that is allowed. */
    if (rms_passes || (coarse && m.count)) return false;
    /* If most of the error is spread over all elements, describes the remaining precision instead
     * of single elements. */
    r.cap = fmin(figures->allowed_rms, DBL_MAX);
    kf_mismatches spread = find_mismatches(&r, scale);
    if (m.count > spread.count / 2) return false;
    fill_mismatches(&spread, figures);
    double bits = scale > 0 && figures->rms > 0 ? -log2(figures->rms / scale) : 0;
    snprintf(figures->pattern, sizeof figures->pattern,
             "all over: about %.0f bits of precision are left", bits > 0 ? bits : 0.0);
    /* with limits of NaN no element is counted, but the output fails */
    if (figures->mismatched == 0) figures->mismatched = 1;
    return false;
}

static bool judge_elements(const rule *r, const kf_error_sums *own, kf_error_figures *figures)
{
    kf_mismatches m = find_mismatches(r, scale_rms(own));
    if (m.count > 0) fill_mismatches(&m, figures);
    return m.count == 0;
}

/* ---- any order ------------------------------------------------------------------------------- */

static int compare_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns a sorted copy as doubles, or as 64-bit integers for i64; the caller frees. Expected
 * doubles are first rounded to the `output` type. NULL without memory. */
static void *sorted_copy(kf_dtype output, bool is_expected, const void *elements, int64_t count)
{
    void *copy =
        count >= 0 && (uint64_t)count < SIZE_MAX / 8 ? malloc((size_t)count * 8 + 1) : NULL;
    if (!copy) return NULL;
    if (output == KF_I64) {
        memcpy(copy, elements, (size_t)count * 8);
    } else if (is_expected && kf_dtype_is_float(output)) {
        for (int64_t i = 0; i < count; i++)
            ((double *)copy)[i] = as_stored(output, ((const double *)elements)[i]);
    } else {
        kf_load_doubles(output, elements, (size_t)count, copy);
    }
    qsort(copy, (size_t)count, 8, output == KF_I64 ? compare_integers : kf_compare_doubles);
    return copy;
}

static bool judge_any_order(const kf_problem_argument *argument, const void *data,
                            const void *expected, kf_error_figures *figures, kf_error *error)
{
    kf_dtype dtype = argument->dtype;
    kf_autofree void *got = sorted_copy(dtype, false, data, argument->elements);
    kf_autofree void *truth = sorted_copy(dtype, true, expected, argument->elements);
    if (!got || !truth) {
        figures->mismatched = figures->compared;
        return kf_fail(
            error, KF_ERROR_MEMORY,
            "comparing output %s in any order: out of memory for copies of %lld elements",
            argument->name, (long long)argument->elements);
    }
    kf_problem_argument sorted = *argument;
    sorted.dtype = dtype == KF_I64 ? KF_I64 : KF_F64;
    rule r = {.argument = &sorted, .data = got, .expected = truth, .cap = DBL_MAX};
    r.slope = argument->tolerance.rtol, r.base = argument->tolerance.atol;
    kf_error_sums own = KF_NO_ERRORS;
    kf_error_accumulate(&sorted, got, truth, &own);
    figures->rms = kf_error_rms(&own);
    figures->max = own.nonfinite ? (double)INFINITY : own.max;
    return judge_elements(&r, &own, figures);
}

bool kf_compare_output(const kf_problem_argument *argument, const void *data, const void *expected,
                       const kf_error_sums *baseline, kf_error_figures *figures, kf_error *error)
{
    *figures = (kf_error_figures){.compared = argument->elements, .first_index = -1};
    if (baseline) {
        figures->baseline_rms = kf_error_rms(baseline);
        figures->baseline_max = baseline->max;
    }
    const kf_tolerance *tolerance = &argument->tolerance;
    /* only KF_ERROR_RATIO has such limits */
    figures->allowed_rms = figures->allowed_max = NAN;
    if (tolerance->kind == KF_ANY_ORDER)
        return judge_any_order(argument, data, expected, figures, error);
    kf_error_sums own = KF_NO_ERRORS;
    kf_error_accumulate(argument, data, expected, &own);
    figures->rms = kf_error_rms(&own);
    figures->max = own.nonfinite ? (double)INFINITY : own.max;
    if (tolerance->kind == KF_ERROR_RATIO)
        return judge_ratio(argument, data, expected, &own, baseline, figures);
    rule r = {.argument = argument, .data = data, .expected = expected, .cap = DBL_MAX};
    if (tolerance->kind == KF_ALLCLOSE)
        r.slope = tolerance->rtol, r.base = tolerance->atol;
    else
        r.rounded = kf_dtype_is_float(argument->dtype);
    return judge_elements(&r, &own, figures);
}

bool kf_compare_rule(const kf_problem_argument *argument, kf_element_rule *how)
{
    const kf_tolerance *tolerance = &argument->tolerance;
    *how = (kf_element_rule){.largest = kf_dtype_largest(argument->dtype),
                             .roundoff = kf_dtype_roundoff(argument->dtype)};
    if (tolerance->kind == KF_ANY_ORDER || is_coarse(argument->dtype)) return false;
    how->counts = tolerance->kind != KF_ERROR_RATIO;
    if (tolerance->kind == KF_ALLCLOSE)
        how->slope = tolerance->rtol, how->base = tolerance->atol;
    else
        how->rounded = tolerance->kind == KF_EXACT && kf_dtype_is_float(argument->dtype);
    return true;
}

bool kf_compare_sums(const kf_problem_argument *argument, const kf_error_sums *own, int64_t failed,
                     const kf_error_sums *baseline, kf_error_figures *figures)
{
    *figures = (kf_error_figures){.compared = argument->elements, .first_index = -1};
    if (baseline) {
        figures->baseline_rms = kf_error_rms(baseline);
        figures->baseline_max = baseline->max;
    }
    figures->allowed_rms = figures->allowed_max = NAN;
    figures->rms = kf_error_rms(own);
    figures->max = own->nonfinite ? (double)INFINITY : own->max;
    if (argument->tolerance.kind != KF_ERROR_RATIO) return failed == 0;
    kf_error_limits(argument, own, baseline, &figures->allowed_rms, &figures->allowed_max);
    bool passes = figures->rms <= figures->allowed_rms && figures->max <= figures->allowed_max &&
                  own->nonfinite == 0;
    figures->tf32 = passes && needs_tf32(argument, own, baseline, figures);
    figures->inaccurate = !passes && kf_is_inaccurate(argument, own);
    return passes;
}
