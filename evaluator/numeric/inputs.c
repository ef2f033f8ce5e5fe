/* Fills inputs. Each element follows from a counter, so any part of any buffer can be computed
 * alone.
 *
 * Words. w(p, b) is Philox block b of purpose p under the buffer's key (philox.h): four words.
 *
 *   w32(p, i)  w(p, i/4)[i%4]
 *   w64(p, i)  2^32 w(p, i/2)[2(i%2)] + w(p, i/2)[2(i%2)+1]
 *   U32(i)     (w32(VALUES, i) >> 8) 2^-24, in [0, 1)
 *   U64(i)     ((w >> 37 << 26) | (low word >> 6)) 2^-53 with w = w64(VALUES, i), for f64: the
 *              upper 27 bits of the high word and the upper 26 bits of the low word
 *   N(i)       Box-Muller (inputs_formula.h) of the two words that elements i and i^1 share.
 *              For f64, elements 2b and 2b+1 use words 0 and 1 of block b, and take their low
 *              bits from words 2 and 3.
 *
 * All floating types but f64 are computed in float, f64 in double. Results are then rounded
 * once, to nearest even. A value that would overflow becomes the largest finite value. Integers
 * are stored exactly, and saturate.
 *
 * Distributions. n is the length of the last axis. "Clamped" means: between the type's smallest
 * value >= a and its largest value < b.
 *
 *   normal             fma(N(i), b, a)
 *   uniform            fma(U(i), b - a, a), clamped; for integer types as integers
 *   integers           a + floor(w64(VALUES, i) (b - a) / 2^64)
 *   permutation        eight-round Feistel network over i (kf_permuted); the round keys are
 *                      blocks 0 and 1 of PERMUTATION
 *   sorted             fma(x, b - a, a) in double, clamped, where x is the top 53 bits of s(i % n)
 *                      in row i / n; integers: a + floor(s (b - a) / 2^64). s ascends like sorted
 *                      uniform words (kf_branch_descend)
 *   offsets            over the whole array: 0 first, a last, between them floor(s(i) (a + 1) /
 *                      2^64) for b = 1, else floor(a x^b)
 *   sparse             w32(VALUES, i) < a 2^32 ? N'(i) : 0, where N' is N with purpose
 *                      VALUES_TOO
 *   constant           a
 *   one_hot            in row r = i / n: 1 if i % n = floor(w64(VALUES, r) n / 2^64), else 0
 *   positive_definite  off the diagonal v = 2 u - 1, on it a m + u, with u = kf_hash_word(k m
 *                      m + l m + h) 2^-32, k the matrix, m = max(rows, columns), l = min(row,
 *                      column), h = max(row, column), and the keys of permutation. |v| <= 1,
 *                      so by Gershgorin every eigenvalue is at least 1 for a >= 1.
 *   symmetric          fma(u, b - a, a) with u as for positive_definite, clamped
 *   upper_triangular   the same, and 0 if row > column
 *   lower_triangular   the same, and 0 if row < column
 *   signs              w32(VALUES, i) < 2^31 ? 1 : -1
 *
 * Variations, with the factor 64 (f16 8, 8-bit floats 4):
 *
 *   scale_up      a and b (normal, uniform) or the value (sparse, positive_definite), times
 *                 factor
 *   scale_down    the same, times 1/factor
 *   offset        + 8 b (normal), + 8 (b - a) / sqrt(12) (uniform; away from 0 if the interval
 *                 excludes 0)
 *   cancellation  x[2j+1] = fma(x[2j+1], 1/64, -x[2j])
 *   outlier       in each run of 1024 elements one is 32 times larger: number floor(w64' len /
 *                 2^64), where w64' is the first two words of block `run` of OUTLIERS and len
 *                 the run's length
 *   stray         in each run, or in one run only, one element, chosen like an outlier, is another
 *                 integer of those legal there (kf_stray, words 2 and 3 of the block)
 *   equal         the same number everywhere, chosen like a stray by block 0 of STRUCTURE; one_hot:
 *                 row r is row 0; offsets: a from a random entry on
 *   clusters      integers: each run has the range of kf_cluster; sorted, offsets: the tree splits
 *                 unevenly; permutation: i plus a random number, modulo n; signs: a random
 * threshold nonfinite     run 0, and each run for which word 2 of block `run` of NONFINITE is
 *                 divisible by 16, has one element, chosen likewise, that is +inf, -inf or NaN
 *                 (word 3 % 3)
 */
#include "kforge/inputs.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "dtype_bulk.h"
#include "inputs_element.h"
#include "inputs_plan_make.h"
#include "multiversion.h"
#include "philox.h"

/* elements computed at a time */
#define RUN KF_RUN
/* entries of a row that takes a single thread some 30 ms */
#define LONGEST_ROW 65536
/* ascending numbers computed at a time */
#define BLOCK_LEVELS 6
#define BLOCK (1 << BLOCK_LEVELS)

/* ---- variations ------------------------------------------------------------------------------ */

const char *kf_variation_name(kf_variation variation)
{
    static const char *const names[KF_VARIATION_COUNT] = {
        [KF_VARY_NONE] = "none",
        [KF_VARY_SCALE_UP] = "scale_up",
        [KF_VARY_SCALE_DOWN] = "scale_down",
        [KF_VARY_OFFSET] = "offset",
        [KF_VARY_CANCELLATION] = "cancellation",
        [KF_VARY_OUTLIER] = "outlier",
        [KF_VARY_STRAY] = "stray",
        [KF_VARY_EQUAL] = "equal",
        [KF_VARY_CLUSTERS] = "clusters",
        [KF_VARY_NONFINITE] = "nonfinite",
    };
    return names[variation];
}

bool kf_variation_changes_speed(kf_variation variation)
{
    return variation == KF_VARY_EQUAL || variation == KF_VARY_CLUSTERS;
}

bool kf_variation_applies(const kf_problem_argument *argument, kf_variation variation)
{
    const kf_distribution *d = &argument->distribution;
    if (variation == KF_VARY_NONE) return true;
    if (variation == KF_VARY_NONFINITE) return kf_dtype_is_float(argument->dtype) && d->nonfinite;
    if (!d->vary) return false;
    bool numeric = kf_dtype_is_float(argument->dtype) && variation < KF_VARY_STRAY;
    bool scale = variation == KF_VARY_SCALE_UP || variation == KF_VARY_SCALE_DOWN;
    bool equal = variation == KF_VARY_EQUAL, clusters = variation == KF_VARY_CLUSTERS;
    bool stray = variation == KF_VARY_STRAY && d->stray_high - d->stray_low > 1;
    switch (d->kind) {
    case KF_NORMAL: return numeric;
    case KF_UNIFORM:
        /* keeps the sign of an interval, for roots and logarithms */
        return numeric && (variation != KF_VARY_CANCELLATION || (d->a < 0 && d->b > 0));
    case KF_SPARSE: return numeric && (scale || variation == KF_VARY_OUTLIER);
    case KF_POSITIVE_DEFINITE: return numeric && scale;
    case KF_INTEGERS:
        return ((equal || clusters || variation == KF_VARY_STRAY) && d->b - d->a > 1) || stray;
    case KF_SORTED: return equal || clusters || (stray && !kf_dtype_is_float(argument->dtype));
    case KF_SIGNS: return equal || clusters;
    case KF_OFFSETS:
        /* a thread may walk the row that has all */
        return argument->elements > 2 && d->a > 0 && ((equal && d->a <= LONGEST_ROW) || clusters);
    case KF_ONE_HOT: return equal || (stray && !kf_dtype_is_float(argument->dtype));
    case KF_PERMUTATION: return clusters && argument->elements > 1;
    default: return false;
    }
}

kf_variation kf_variation_choose(const kf_problem_argument *argument, kf_key key)
{
    uint32_t words[4];
    kf_random_words(key, KF_FOR_CHOICE, 0, 1, words);
    if (words[0] & 1) return KF_VARY_NONE;
    kf_variation applicable[KF_VARIATION_COUNT];
    uint64_t count = 0;
    for (int v = 0; v < KF_VARIATION_COUNT; v++)
        if (kf_variation_applies(argument, (kf_variation)v)) applicable[count++] = (kf_variation)v;
    return applicable[kf_below(words[1], words[2], count)];
}

static double scale_factor(kf_dtype dtype, kf_variation variation)
{
    double factor = dtype == KF_F16 ? 8 : kf_dtype_size(dtype) == 1 ? 4 : 64;
    return variation == KF_VARY_SCALE_UP     ? factor
           : variation == KF_VARY_SCALE_DOWN ? 1 / factor
                                             : 1;
}

/* ---- the plan of a buffer ---------------------------------------------------------------------
 */

typedef kf_input_plan plan;

/* Returns the next representable number below (direction -1) or above (+1) `value`, which is
 * representable. */
static double neighbour(kf_dtype dtype, double value, int direction)
{
    uint64_t bits = 0, sign = (uint64_t)1 << (8 * kf_dtype_size(dtype) - 1);
    /* little-endian: the element is in the low bytes */
    kf_dtype_store(dtype, &bits, value);
    if (value == 0)
        bits = direction > 0 ? 1 : sign | 1;
    else if ((value > 0) == (direction > 0))
        bits++;
    else
        bits--;
    return kf_dtype_load(dtype, &bits);
}

static double rounded(kf_dtype dtype, double value)
{
    uint64_t bits = 0;
    double most = kf_dtype_largest(dtype);
    kf_dtype_store(dtype, &bits, value > most ? most : value < -most ? -most : value);
    return kf_dtype_load(dtype, &bits);
}

static void plan_interval(plan *p)
{
    p->bottom = rounded((kf_dtype)p->dtype, p->a);
    if (p->bottom < p->a) p->bottom = neighbour((kf_dtype)p->dtype, p->bottom, 1);
    p->top = rounded((kf_dtype)p->dtype, p->b);
    if (p->top >= p->b) p->top = neighbour((kf_dtype)p->dtype, p->top, -1);
    /* without a number in the interval, the nearest one */
    if (!(p->top >= p->bottom)) p->top = p->bottom;
}

/* Returns a bound as an integer, saturated to 64 bits. */
static int64_t integer_bound(double value)
{
    return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)ceil(value);
}

static void plan_integers(plan *p)
{
    p->low = integer_bound(p->a);
    int64_t high = integer_bound(p->b);
    p->range = high > p->low ? (uint64_t)high - (uint64_t)p->low : 1;
}

static void plan_permutation(plan *p)
{
    uint64_t n = p->elements;
    for (p->half_bits = 1; p->half_bits < 31 && (uint64_t)1 << (2 * p->half_bits) < n;)
        p->half_bits++;
}

static void plan_ascending(plan *p)
{
    if (p->kind == KF_OFFSETS) p->last = p->elements;
    while ((uint64_t)1 << p->levels < p->last) p->levels++;
}

/* Makes all elements equal, or chooses a number for the clusters of a whole buffer. */
static void plan_structure(plan *p)
{
    uint32_t words[4];
    kf_random_words((kf_key){p->secret, p->set, p->argument}, KF_FOR_STRUCTURE, 0, 1, words);
    bool equal = p->variation == KF_VARY_EQUAL;
    if (p->kind == KF_OFFSETS)
        p->low = 1 + (int64_t)kf_below(words[0], words[1], p->elements - 1);
    else if (p->kind == KF_PERMUTATION)
        p->low = (int64_t)kf_below(words[0], words[1], p->elements);
    else if (p->kind == KF_SIGNS)
        p->threshold = equal ? (uint64_t)(words[0] & 1) << 32 : words[0];
    else if (equal && (p->kind == KF_INTEGERS || (p->kind == KF_SORTED && !p->is_float)))
        p->low = kf_stray(p->low, p->range, words[0], words[1]), p->range = 1;
    else if (equal && p->kind == KF_SORTED)
        p->bottom = p->top =
            rounded((kf_dtype)p->dtype,
                    p->bottom + kf_unit_double(words[0], words[1]) * (p->top - p->bottom));
}

static kf_carrier carrier_of(const plan *p)
{
    switch (p->kind) {
    case KF_NORMAL:
    case KF_UNIFORM:
    case KF_SPARSE: return p->is_float && p->dtype != KF_F64 ? KF_CARRY_FLOATS : KF_CARRY_DOUBLES;
    case KF_SORTED: return p->is_float ? KF_CARRY_DOUBLES : KF_CARRY_INTEGERS;
    case KF_CONSTANT:
    case KF_POSITIVE_DEFINITE:
    case KF_SYMMETRIC:
    case KF_UPPER_TRIANGULAR:
    case KF_LOWER_TRIANGULAR: return KF_CARRY_DOUBLES;
    default: return KF_CARRY_INTEGERS;
    }
}

static uint64_t axis(const kf_problem_argument *argument, int from_last)
{
    int64_t length = argument->dims >= from_last ? argument->shape[argument->dims - from_last] : 1;
    return length > 0 ? (uint64_t)length : 1;
}

/* Chooses the run with a stray, or all of them. A single one is seldom among those that a candidate
 * looks at. */
static void plan_strays(plan *p)
{
    uint32_t words[4];
    kf_random_words((kf_key){p->secret, p->set, p->argument}, KF_FOR_STRUCTURE, 0, 1, words);
    p->threshold = words[0] % 4 == 0 ? KF_ALL_RUNS
                                     : kf_below(words[1], words[2], (p->elements + RUN - 1) / RUN);
}

kf_input_plan kf_input_plan_make(const kf_problem_argument *argument, kf_key key,
                                 kf_variation variation)
{
    const kf_distribution *d = &argument->distribution;
    if (!kf_variation_applies(argument, variation)) variation = KF_VARY_NONE;
    plan p = {.secret = key.secret,
              .set = key.set,
              .argument = key.argument,
              .variation = (int32_t)variation,
              .kind = (int32_t)d->kind,
              .dtype = (int32_t)argument->dtype,
              .is_float = kf_dtype_is_float(argument->dtype),
              .elements = (uint64_t)argument->elements,
              .last = axis(argument, 1),
              .rows = axis(argument, 2),
              .a = d->a,
              .b = d->b,
              .most = kf_dtype_largest(argument->dtype)};
    p.scale = scale_factor(argument->dtype, variation);
    if (p.kind == KF_UNIFORM && !p.is_float) p.kind = KF_INTEGERS;
    if (p.kind == KF_NORMAL || p.kind == KF_UNIFORM) {
        double shift = variation != KF_VARY_OFFSET ? 0
                       : p.kind == KF_NORMAL       ? 8 * p.b
                                             : 2.3094010767585030 /* 8 / sqrt 12 */ * (p.b - p.a);
        p.a *= p.scale;
        p.b *= p.scale;
        if (p.kind == KF_UNIFORM && p.b <= 0) shift = -shift;
        p.a += shift;
        if (p.kind == KF_UNIFORM) p.b += shift;
    }
    bool square =
        p.kind == KF_SYMMETRIC || p.kind == KF_UPPER_TRIANGULAR || p.kind == KF_LOWER_TRIANGULAR;
    if (p.kind == KF_UNIFORM || (p.kind == KF_SORTED && p.is_float) || square) plan_interval(&p);
    if (p.kind == KF_INTEGERS || p.kind == KF_SORTED) plan_integers(&p);
    if (p.kind == KF_PERMUTATION) plan_permutation(&p);
    bool ascending = p.kind == KF_SORTED || p.kind == KF_OFFSETS;
    if (ascending) plan_ascending(&p);
    if (p.kind == KF_PERMUTATION || p.kind == KF_POSITIVE_DEFINITE || square || ascending)
        kf_random_words(key, KF_FOR_PERMUTATION, 0, 2, p.round_keys);
    p.stray_low = p.low, p.stray_range = p.range;
    if (d->stray_high > d->stray_low) {
        p.stray_low = integer_bound(d->stray_low);
        p.stray_range = (uint64_t)(integer_bound(d->stray_high) - p.stray_low);
    }
    if (p.kind == KF_SIGNS) p.threshold = (uint64_t)1 << 31;
    if (kf_variation_changes_speed(variation)) plan_structure(&p);
    if (variation == KF_VARY_STRAY) plan_strays(&p);
    if (p.kind == KF_SPARSE)
        p.threshold = p.a >= 1 ? (uint64_t)1 << 32 : p.a > 0 ? (uint64_t)(p.a * 0x1p32) : 0;
    p.carrier = (int32_t)carrier_of(&p);
    return p;
}

/* ---- inner loops, RUN elements --------------------------------------------------------------- */

KF_BODY uniform_floats_body(const uint32_t *restrict words, float low, float range, float bottom,
                            float top, float *restrict out)
{
    for (int i = 0; i < RUN; i++) {
        float value = fmaf(kf_unit_float(words[i]), range, low);
        value = value < top ? value : top;
        out[i] = value > bottom ? value : bottom;
    }
}
KF_MULTIVERSION(uniform_floats,
                (const uint32_t *restrict words, float low, float range, float bottom, float top,
                 float *restrict out),
                (words, low, range, bottom, top, out))

KF_BODY normal_floats_body(const uint32_t *restrict words, float mean, float deviation,
                           float *restrict out)
{
    for (int i = 0; i < RUN / 2; i++) {
        float z0, z1;
        kf_normal_pair(words[2 * i], words[2 * i + 1], &z0, &z1);
        out[2 * i] = fmaf(z0, deviation, mean);
        out[2 * i + 1] = fmaf(z1, deviation, mean);
    }
}
KF_MULTIVERSION(normal_floats,
                (const uint32_t *restrict words, float mean, float deviation, float *restrict out),
                (words, mean, deviation, out))

KF_BODY uniform_doubles_body(const uint32_t *restrict words, double low, double range,
                             double bottom, double top, double *restrict out)
{
    for (int i = 0; i < RUN; i++) {
        double value = fma(kf_unit_double(words[2 * i], words[2 * i + 1]), range, low);
        value = value < top ? value : top;
        out[i] = value > bottom ? value : bottom;
    }
}
KF_MULTIVERSION(uniform_doubles,
                (const uint32_t *restrict words, double low, double range, double bottom,
                 double top, double *restrict out),
                (words, low, range, bottom, top, out))

KF_BODY normal_doubles_body(const uint32_t *restrict words, double mean, double deviation,
                            double *restrict out)
{
    for (int i = 0; i < RUN / 2; i++) {
        float z0, z1;
        kf_normal_pair(words[4 * i], words[4 * i + 1], &z0, &z1);
        out[2 * i] = fma(kf_refine_normal(z0, words[4 * i + 2]), deviation, mean);
        out[2 * i + 1] = fma(kf_refine_normal(z1, words[4 * i + 3]), deviation, mean);
    }
}
KF_MULTIVERSION(normal_doubles,
                (const uint32_t *restrict words, double mean, double deviation,
                 double *restrict out),
                (words, mean, deviation, out))

KF_BODY narrow_integers_body(const uint32_t *restrict words, uint64_t range, int64_t low,
                             int64_t *restrict out)
{
    for (int i = 0; i < RUN; i++)
        out[i] = low + (int64_t)(((uint64_t)words[2 * i] * range +
                                  ((uint64_t)words[2 * i + 1] * range >> 32)) >>
                                 32);
}
KF_MULTIVERSION(narrow_integers,
                (const uint32_t *restrict words, uint64_t range, int64_t low,
                 int64_t *restrict out),
                (words, range, low, out))

/* Computes the numbers of BLOCK places, all below one node, level by level. */
KF_BODY ascend_body(const kf_branch *top, int uneven, uint32_t row_word,
                    const uint32_t *restrict keys, uint64_t *restrict out)
{
    uint64_t low[2][BLOCK], length[2][BLOCK];
    low[0][0] = top->low;
    length[0][0] = top->length;
#pragma GCC unroll 6
    for (int k = 0; k < BLOCK_LEVELS; k++) {
        uint64_t half = (uint64_t)BLOCK >> (k + 1);
        for (int i = 0; i < 1 << k; i++) {
            uint32_t word = kf_branch_word(row_word, (top->node << k) + (uint64_t)i, keys);
            uint64_t part = kf_branch_part(
                length[k % 2][i], kf_branch_share(half, 2 * half, BLOCK_LEVELS - k, uneven, word));
            low[1 - k % 2][2 * i] = low[k % 2][i];
            length[1 - k % 2][2 * i] = part;
            low[1 - k % 2][2 * i + 1] = low[k % 2][i] + part;
            length[1 - k % 2][2 * i + 1] = length[k % 2][i] - part;
        }
    }
    for (int i = 0; i < BLOCK; i++)
        out[i] = low[BLOCK_LEVELS % 2][i] +
                 kf_branch_part(
                     length[BLOCK_LEVELS % 2][i],
                     kf_branch_word(row_word, (top->node << BLOCK_LEVELS) + (uint64_t)i, keys));
}
KF_MULTIVERSION(ascend,
                (const kf_branch *top, int uneven, uint32_t row_word, const uint32_t *restrict keys,
                 uint64_t *restrict out),
                (top, uneven, row_word, keys, out))

KF_BODY to_u8_body(const int64_t *restrict values, uint8_t *restrict out)
{
    for (int i = 0; i < RUN; i++) {
        int64_t value = values[i] < UINT8_MAX ? values[i] : UINT8_MAX;
        out[i] = (uint8_t)(value > 0 ? value : 0);
    }
}
KF_MULTIVERSION(to_u8, (const int64_t *restrict values, uint8_t *restrict out), (values, out))

KF_BODY to_i32_body(const int64_t *restrict values, int32_t *restrict out)
{
    for (int i = 0; i < RUN; i++) {
        int64_t value = values[i] < INT32_MAX ? values[i] : INT32_MAX;
        out[i] = (int32_t)(value > INT32_MIN ? value : INT32_MIN);
    }
}
KF_MULTIVERSION(to_i32, (const int64_t *restrict values, int32_t *restrict out), (values, out))

KF_BODY doubles_to_f32_body(const double *restrict values, float *restrict out)
{
    for (int i = 0; i < RUN; i++) {
        double value = values[i] < (double)FLT_MAX ? values[i] : (double)FLT_MAX;
        out[i] = (float)(value > -(double)FLT_MAX ? value : -(double)FLT_MAX);
    }
}
KF_MULTIVERSION(doubles_to_f32, (const double *restrict values, float *restrict out), (values, out))

KF_BODY cancel_floats_body(float *restrict values)
{
    for (int i = 0; i < RUN; i += 2) values[i + 1] = fmaf(values[i + 1], 0x1p-6f, -values[i]);
}
KF_MULTIVERSION(cancel_floats, (float *restrict values), (values))

/* ---- runs: each fills RUN values of run number `run` in one of three carriers ---------------- */

typedef union carrier {
    float f32[RUN];
    double f64[RUN];
    int64_t i64[RUN];
} carrier;

static kf_key key_of(const plan *p)
{
    return (kf_key){.secret = p->secret, .set = p->set, .argument = p->argument};
}

/* Writes the words of a run, `per_element` (1 or 2) for each element. */
static void run_words(const plan *p, kf_purpose purpose, uint64_t run, int per_element,
                      uint32_t *words)
{
    size_t blocks = (size_t)RUN / 4 * (size_t)per_element;
    kf_random_words(key_of(p), purpose, run * blocks, blocks, words);
}

static void run_floats(const plan *p, uint64_t run, uint32_t *words, float *out)
{
    run_words(p, KF_FOR_VALUES, run, 1, words);
    if (p->kind == KF_NORMAL) {
        normal_floats(words, (float)p->a, (float)p->b, out);
    } else if (p->kind == KF_UNIFORM) {
        uniform_floats(words, (float)p->a, (float)(p->b - p->a), (float)p->bottom, (float)p->top,
                       out);
    } else {
        uint64_t threshold = p->threshold;
        uint32_t more[RUN];
        run_words(p, KF_FOR_VALUES_TOO, run, 1, more);
        normal_floats(more, 0, (float)p->scale, out);
        for (int i = 0; i < RUN; i++) out[i] = words[i] < threshold ? out[i] : 0;
    }
}

/* Goes from the root to level `end` above a place. */
static kf_branch branch_above(const plan *p, uint64_t place, int end, uint32_t row_word)
{
    kf_branch at = kf_branch_root();
    for (int level = p->levels; level > end; level--)
        kf_branch_descend(&at, place, p->last, level, p->variation == KF_VARY_CLUSTERS, row_word,
                          p->round_keys);
    return at;
}

/* Computes the ascending numbers of a run, BLOCK places at a time where a row has so many. */
static void run_ascending(const plan *p, uint64_t run, uint64_t *out)
{
    uint64_t row = run * RUN / p->last, place = run * RUN % p->last;
    uint32_t row_word = kf_hash_word(row, p->round_keys);
    for (int i = 0; i < RUN;) {
        uint64_t block = place & ~(uint64_t)(BLOCK - 1), skip = place - block, take = 1;
        if (p->levels >= BLOCK_LEVELS && block + BLOCK <= p->last) {
            uint64_t numbers[BLOCK];
            kf_branch top = branch_above(p, place, BLOCK_LEVELS, row_word);
            ascend(&top, p->variation == KF_VARY_CLUSTERS, row_word, p->round_keys, numbers);
            take = BLOCK - skip < (uint64_t)(RUN - i) ? BLOCK - skip : (uint64_t)(RUN - i);
            memcpy(out + i, numbers + skip, take * sizeof *out);
        } else {
            kf_branch leaf = branch_above(p, place, 0, row_word);
            out[i] = kf_branch_number(&leaf, row_word, p->round_keys);
        }
        i += (int)take;
        place += take;
        if (place < p->last) continue;
        place = 0;
        row_word = kf_hash_word(++row, p->round_keys);
    }
}

/* Computes a run of square matrices. Positions beyond the end of the buffer count on. */
static void run_matrix(const plan *p, uint64_t run, double *out)
{
    uint64_t columns = p->last, rows = p->rows;
    uint64_t n = rows > columns ? rows : columns, index = run * RUN;
    uint64_t column = index % columns, row = index / columns % rows,
             matrix = index / columns / rows;
    for (int i = 0; i < RUN; i++) {
        double u = kf_square_unit(matrix, n, row, column, p->round_keys);
        if (p->kind == KF_POSITIVE_DEFINITE) {
            out[i] = p->scale * (row == column ? fma(p->a, (double)n, u) : fma(2, u, -1));
        } else if (kf_outside_triangle(p->kind == KF_UPPER_TRIANGULAR,
                                       p->kind == KF_LOWER_TRIANGULAR, row, column)) {
            out[i] = 0;
        } else {
            double value = fma(u, p->b - p->a, p->a);
            out[i] = value > p->top ? p->top : value < p->bottom ? p->bottom : value;
        }
        if (++column < columns) continue;
        column = 0;
        if (++row < rows) continue;
        row = 0, matrix++;
    }
}

static void run_doubles(const plan *p, uint64_t run, uint32_t *words, double *out)
{
    uint64_t numbers[RUN];
    switch (p->kind) {
    case KF_NORMAL:
        run_words(p, KF_FOR_VALUES, run, 2, words);
        normal_doubles(words, p->a, p->b, out);
        return;
    case KF_UNIFORM:
        run_words(p, KF_FOR_VALUES, run, 2, words);
        uniform_doubles(words, p->a, p->b - p->a, p->bottom, p->top, out);
        return;
    case KF_SPARSE:
        run_words(p, KF_FOR_VALUES_TOO, run, 2, words);
        normal_doubles(words, 0, p->scale, out);
        run_words(p, KF_FOR_VALUES, run, 1, words);
        for (int i = 0; i < RUN; i++) out[i] = words[i] < p->threshold ? out[i] : 0;
        return;
    case KF_SORTED:
        run_ascending(p, run, numbers);
        for (int i = 0; i < RUN; i++) out[i] = kf_sorted_value(p, numbers[i]);
        return;
    case KF_POSITIVE_DEFINITE:
    case KF_SYMMETRIC:
    case KF_UPPER_TRIANGULAR:
    case KF_LOWER_TRIANGULAR: run_matrix(p, run, out); return;
    default:
        for (int i = 0; i < RUN; i++) out[i] = p->a;
        return;
    }
}

/* Computes a run of one_hot rows. */
static void run_one_hot(const plan *p, uint64_t run, int64_t *out)
{
    uint64_t n = p->last, row = UINT64_MAX, hot = 0;
    bool equal = p->variation == KF_VARY_EQUAL;
    for (int i = 0; i < RUN; i++) {
        uint64_t index = run * RUN + (uint64_t)i, here = equal ? 0 : index / n;
        if (here != row) {
            uint32_t words[4];
            row = here;
            kf_random_words(key_of(p), KF_FOR_VALUES, row / 2, 1, words);
            hot = kf_below(words[2 * (row % 2)], words[2 * (row % 2) + 1], n);
        }
        out[i] = index % n == hot;
    }
}

static void run_plain_integers(const plan *p, uint64_t run, uint32_t *words, int64_t *out)
{
    int64_t low = p->low;
    uint64_t range = p->range;
    if (p->variation == KF_VARY_CLUSTERS) kf_cluster(p, run, &low, &range);
    run_words(p, KF_FOR_VALUES, run, 2, words);
    if (range <= 0xffffffffu) {
        narrow_integers(words, range, low, out);
        return;
    }
    for (int i = 0; i < RUN; i++)
        out[i] = (int64_t)((uint64_t)low + kf_below(words[2 * i], words[2 * i + 1], range));
}

static void run_integers(const plan *p, uint64_t run, uint32_t *words, int64_t *out)
{
    uint64_t first = run * RUN, numbers[RUN];
    switch (p->kind) {
    case KF_INTEGERS: run_plain_integers(p, run, words, out); return;
    case KF_PERMUTATION:
        for (int i = 0; i < RUN; i++) {
            uint64_t index = first + (uint64_t)i;
            out[i] = index < p->elements ? kf_permutation_value(p, index) : 0;
        }
        return;
    case KF_SORTED:
        run_ascending(p, run, numbers);
        for (int i = 0; i < RUN; i++)
            out[i] = (int64_t)((uint64_t)p->low + kf_below((uint32_t)(numbers[i] >> 32),
                                                           (uint32_t)numbers[i], p->range));
        return;
    case KF_OFFSETS:
        run_ascending(p, run, numbers);
        for (int i = 0; i < RUN; i++) out[i] = kf_offset_value(p, first + (uint64_t)i, numbers[i]);
        return;
    case KF_SIGNS:
        run_words(p, KF_FOR_VALUES, run, 1, words);
        for (int i = 0; i < RUN; i++) out[i] = words[i] < p->threshold ? 1 : -1;
        return;
    default: run_one_hot(p, run, out); return;
    }
}

/* ---- variations of a run, and storing it ----------------------------------------------------- */

/* Returns the element of a run that is an outlier or not finite, chosen by two words. */
static int special_element(const plan *p, uint64_t run, const uint32_t words[4])
{
    uint64_t left = p->elements - run * RUN;
    return (int)kf_below(words[0], words[1], left < RUN ? left : RUN);
}

static void vary_run(const plan *p, uint64_t run, kf_carrier type, carrier *values)
{
    if (p->variation == KF_VARY_CANCELLATION) {
        if (type == KF_CARRY_FLOATS) cancel_floats(values->f32);
        for (int i = 0; i < RUN && type == KF_CARRY_DOUBLES; i += 2)
            values->f64[i + 1] = fma(values->f64[i + 1], 0x1p-6, -values->f64[i]);
    } else if (p->variation == KF_VARY_OUTLIER || p->variation == KF_VARY_STRAY) {
        uint32_t words[4];
        kf_random_words(key_of(p), KF_FOR_OUTLIERS, run, 1, words);
        int special = special_element(p, run, words);
        if (p->variation == KF_VARY_STRAY && !kf_has_stray(p, run)) return;
        if (p->variation == KF_VARY_STRAY)
            values->i64[special] = kf_stray(p->stray_low, p->stray_range, words[2], words[3]);
        else if (type == KF_CARRY_FLOATS)
            values->f32[special] *= 32;
        else
            values->f64[special] *= 32;
    }
}

static void store_doubles(kf_dtype dtype, const double *values, char *out)
{
    size_t size = kf_dtype_size(dtype);
    double most = kf_dtype_largest(dtype), least = -most;
    if (dtype == KF_F32 || dtype == KF_TF32) {
        doubles_to_f32(values, (float *)(void *)out);
        return;
    }
    for (int i = 0; i < RUN; i++) {
        double value = values[i] > most ? most : values[i] < least ? least : values[i];
        kf_dtype_store(dtype, out + (size_t)i * size, kf_dtype_is_float(dtype) ? value : values[i]);
    }
}

static void store_integers(kf_dtype dtype, const int64_t *values, void *out)
{
    if (dtype == KF_I64) {
        memcpy(out, values, RUN * sizeof *values);
    } else if (dtype == KF_I32) {
        to_i32(values, out);
    } else if (dtype == KF_U8) {
        to_u8(values, out);
    } else {
        double wide[RUN];
        for (int i = 0; i < RUN; i++) wide[i] = (double)values[i];
        store_doubles(dtype, wide, out);
    }
}

static void add_nonfinite(const plan *p, uint64_t run, char *out)
{
    uint32_t words[4];
    kf_random_words(key_of(p), KF_FOR_NONFINITE, run, 1, words);
    if (run != 0 && words[2] % 16 != 0) return;
    static const float kinds[] = {INFINITY, -INFINITY, NAN};
    kf_dtype dtype = (kf_dtype)p->dtype;
    kf_dtype_store(dtype, out + (size_t)special_element(p, run, words) * kf_dtype_size(dtype),
                   (double)kinds[words[3] % 3]);
}

/* Computes all RUN elements of a run, also those beyond the end of the buffer, and stores them at
 * `out`. */
static void fill_run(const plan *p, uint64_t run, void *out)
{
    carrier values;
    uint32_t words[2 * RUN];
    kf_carrier type = (kf_carrier)p->carrier;
    if (type == KF_CARRY_FLOATS)
        run_floats(p, run, words, values.f32);
    else if (type == KF_CARRY_DOUBLES)
        run_doubles(p, run, words, values.f64);
    else
        run_integers(p, run, words, values.i64);
    vary_run(p, run, type, &values);
    if (type == KF_CARRY_FLOATS)
        kf_store_floats((kf_dtype)p->dtype, values.f32, RUN, out);
    else if (type == KF_CARRY_DOUBLES)
        store_doubles((kf_dtype)p->dtype, values.f64, out);
    else
        store_integers((kf_dtype)p->dtype, values.i64, out);
    if (p->variation == KF_VARY_NONFINITE) add_nonfinite(p, run, out);
}

void kf_input_fill(const kf_problem_argument *argument, kf_key key, kf_variation variation,
                   void *data, int64_t first, int64_t count)
{
    if (first < 0 || first >= argument->elements || count <= 0) return;
    if (count > argument->elements - first) count = argument->elements - first;
    plan p = kf_input_plan_make(argument, key, variation);
    size_t size = kf_dtype_size(argument->dtype);
    for (int64_t left = count; left > 0;) {
        uint64_t run = (uint64_t)first / RUN;
        size_t skip = (size_t)first % RUN,
               take = left < (int64_t)(RUN - skip) ? (size_t)left : RUN - skip;
        char *out = (char *)data + (size_t)first * size;
        if (take == RUN) {
            fill_run(&p, run, out);
        } else {
            _Alignas(64) char room[RUN * 8];
            fill_run(&p, run, room);
            memcpy(out, room + skip * size, take * size);
        }
        first += (int64_t)take, left -= (int64_t)take;
    }
}
