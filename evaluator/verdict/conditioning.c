/* How much an output changes if each input changes by one rounding (compare.h). */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "kforge/compare.h"
#include "kforge/stats.h"

/* Larger changes than this multiple of the 90 % quantile come from steps of the function, if they
 * are that large in proportion to the elements, too. */
#define STEP 8

/* Changes by f64 inputs count up to this multiple of the scale times the roundoff of f32. The
 * judge's own variation makes a sum of like terms cancel to 1/64. Outputs that cancel far more need
 * the last bits of their inputs. */
#define MOST_OF_F64 1024

/* ---- inputs ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Defines a function that moves elements of one width by a step in the last place. Zeros, subnormal
 * numbers and the largest numbers stay. */
#define KF_NUDGE(name, type, mantissa, exponents, step)                                      \
    static void name(type *bits, int64_t count, uint64_t seed, uint64_t most, uint64_t up)   \
    {                                                                                        \
        for (int64_t i = 0; i < count; i++) {                                                \
            int exponent = (int)(bits[i] >> (mantissa) & (exponents));                       \
            uint64_t chance = mix(seed + (uint64_t)i);                                       \
            if (exponent == 0 || exponent >= (exponents)-1 || chance >> 11 > most) continue; \
            bits[i] = (type)(chance & up ? bits[i] + (step) : bits[i] - (step));             \
        }                                                                                    \
    }
KF_NUDGE(nudge_f64, uint64_t, 52, 0x7ff, UINT64_C(1) << 29)
KF_NUDGE(nudge_f32, uint32_t, 23, 0xff, 1)
KF_NUDGE(nudge_f16, uint16_t, 10, 0x1f, 1)
KF_NUDGE(nudge_bf16, uint16_t, 7, 0xff, 1)
KF_NUDGE(nudge_f8e4m3, uint8_t, 3, 0xf, 1)
KF_NUDGE(nudge_f8e5m2, uint8_t, 2, 0x1f, 1)

void kf_nudge(kf_dtype dtype, void *data, int64_t count, uint64_t seed, double share)
{
    uint64_t most = (uint64_t)(share * 0x1p53), up = share < 1 ? UINT64_MAX : 1;
    seed = mix(seed);
    switch (dtype) {
    case KF_F64: nudge_f64(data, count, seed, most, up); break;
    case KF_F32:
    case KF_TF32: nudge_f32(data, count, seed, most, up); break;
    case KF_F16: nudge_f16(data, count, seed, most, up); break;
    case KF_BF16: nudge_bf16(data, count, seed, most, up); break;
    case KF_F8E4M3: nudge_f8e4m3(data, count, seed, most, up); break;
    case KF_F8E5M2: nudge_f8e5m2(data, count, seed, most, up); break;
    default: break;
    }
}

/* Integers that are drawn independently of each other. */
static bool has_integers(const kf_problem_argument *argument)
{
    const kf_distribution *d = &argument->distribution;
    return !d->generated && d->vary && (d->kind == KF_INTEGERS || d->kind == KF_SIGNS);
}

/* Returns the legal number that follows, in a ring. It is 0 only if no other differs. */
static int64_t next_integer(const kf_distribution *d, int64_t number)
{
    if (d->kind == KF_SIGNS) return -number;
    int64_t low = (int64_t)d->a, high = (int64_t)d->b, next = number;
    do {
        next = next + 1 < high ? next + 1 : low;
    } while (next == 0 && high - low > 2);
    return next;
}

void kf_nudge_input(const kf_problem_argument *argument, void *data, uint64_t seed, double share)
{
    if (kf_dtype_is_float(argument->dtype)) {
        kf_nudge(argument->dtype, data, argument->elements, seed, share);
        return;
    }
    uint64_t most = (uint64_t)(share * 0x1p53);
    size_t size = kf_dtype_size(argument->dtype);
    seed = mix(seed);
    for (int64_t i = 0; i < argument->elements; i++) {
        if (mix(seed + (uint64_t)i) >> 11 > most) continue;
        char *element = (char *)data + (size_t)i * size;
        double number = kf_dtype_load(argument->dtype, element);
        /* larger ones may have lost their last bits */
        if (number == 0 || !(fabs(number) < 0x1p53)) continue;
        kf_dtype_store(argument->dtype, element,
                       (double)next_integer(&argument->distribution, (int64_t)number));
    }
}

double kf_nudge_unit(kf_dtype dtype)
{
    switch (dtype) {
    case KF_TF32: return kf_dtype_roundoff(KF_F32);
    case KF_F64:
    case KF_F32:
    case KF_F16:
    case KF_BF16:
    case KF_F8E4M3:
    case KF_F8E5M2: return kf_dtype_roundoff(dtype);
    default: return 0;
    }
}

bool kf_condition_moves(const kf_problem_argument *argument, bool inouts)
{
    return kf_dtype_is_float(argument->dtype) &&
           (argument->kind == KF_INPUT || (argument->kind == KF_INOUT && inouts));
}

bool kf_condition_belongs(const kf_problem_argument *argument, kf_moved moved, bool inouts)
{
    kf_distribution_kind kind = argument->distribution.kind;
    switch (moved) {
    case KF_MOVED_FLOATS: return kf_condition_moves(argument, inouts);
    case KF_MOVED_INTEGERS: return argument->kind == KF_INPUT && has_integers(argument);
    case KF_MOVED_OTHERS:
        return kf_condition_moves(argument, inouts) && !has_integers(argument) &&
               (argument->distribution.generated || (kind != KF_CONSTANT && kind != KF_ONE_HOT));
    }
    return false;
}

double kf_condition_unit(const kf_problem_argument *arguments, int count, bool inouts)
{
    double unit = 0;
    for (int i = 0; i < count; i++)
        if (kf_condition_moves(&arguments[i], inouts))
            unit = fmax(unit, kf_nudge_unit(arguments[i].dtype));
    return unit;
}

/* ---- outputs --------------------------------------------------------------------------------- */

int64_t kf_condition_sample(const double *values, int64_t count, double *sample)
{
    int64_t step = (count + KF_CONDITION_SAMPLE - 1) / KF_CONDITION_SAMPLE, used = 0;
    for (int64_t i = 0; i < count; i += step) sample[used++] = values[i];
    return used;
}

/* Returns the RMS of the finite values. */
static double rms_of(const double *values, int64_t count)
{
    double square = 0;
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++)
        if (fabs(values[i]) <= DBL_MAX) square += values[i] * values[i], used++;
    return used ? sqrt(square / (double)used) : 0;
}

/* Returns the largest number that is no step: STEP times the 90 % quantile. Sorts the numbers. */
static double without_steps(double *numbers, int64_t count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, kf_compare_doubles);
    return STEP * numbers[count - 1 - count / 10];
}

bool kf_condition_add(const double *before, const double *after, int64_t count, double unit,
                      kf_error_sums *sums)
{
    int64_t used = 0;
    bool f64_alone = unit == kf_dtype_roundoff(KF_F64);
    if (count <= 0 || !(unit > 0)) return true;
    kf_autofree double *changes = calloc((size_t)count, sizeof *changes);
    kf_autofree double *parts = calloc((size_t)count, sizeof *parts);
    if (!changes || !parts) return false;
    double v = kf_dtype_roundoff(KF_F32), factor = f64_alone ? 1 : v / unit,
           cap = f64_alone ? MOST_OF_F64 * v * rms_of(before, count) : DBL_MAX;
    for (int64_t i = 0; i < count; i++) {
        double change = fabs(after[i] - before[i]) * factor;
        if (!(change <= DBL_MAX)) continue;
        parts[used] = before[i] != 0 ? change / fabs(before[i]) : 0;
        changes[used++] = change;
    }
    if (!used) return true;
    double most = without_steps(changes, used), most_part = without_steps(parts, used);
    for (int64_t i = 0; i < count; i++) {
        double change = fabs(after[i] - before[i]) * factor;
        if (!(change <= DBL_MAX)) continue;
        if (!(change <= most) && !(change <= most_part * fabs(before[i]))) continue;
        change = fmin(change, cap);
        sums->change_square += change * change;
        sums->change_max = fmax(sums->change_max, change);
        sums->change_count++;
    }
    return true;
}

/* ---- the number of terms --------------------------------------------------------------------- */

/* 4^-DEEPEST of the inputs change no output. */
#define DEEPEST 11
/* Elements that make an estimate, and runs. Elements of one row change together. */
#define ENOUGH 32
#define LEAST_REPEATS 6
#define REPEATS 32

static int depth(const kf_terms_search *search)
{
    return search->high - search->low > 1 ? (search->low + search->high) / 2 : search->high;
}

static bool is_complete(const kf_terms_search *search)
{
    return search->high - search->low <= 1 &&
           ((search->seen >= ENOUGH && search->repeats >= LEAST_REPEATS) ||
            search->repeats >= REPEATS);
}

/* Bisects the depth at which few elements change, then repeats it until ENOUGH elements are seen.
 */
double kf_terms_share(kf_terms_search *search)
{
    if (search->high == 0) *search = (kf_terms_search){.high = DEEPEST, .terms = 1};
    return is_complete(search) ? 0 : exp2(-2.0 * depth(search));
}

/* True if an element moved by more than the noise. A value that became NaN or infinite has moved.
 */
static bool has_moved(double before, double after, double noise)
{
    return !(fabs(after - before) <= noise * fabs(before));
}

void kf_terms_note(kf_terms_search *search, const double *before, const double *again,
                   const double *all, const double *after, int64_t count)
{
    int64_t counted = 0, changed = 0;
    double noise = 0;
    for (int64_t i = 0; i < count; i++)
        if (before[i] != 0 && isfinite(before[i]))
            noise = fmax(noise, 4 * fabs(again[i] - before[i]) / fabs(before[i]));
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(before[i]) || !has_moved(before[i], all[i], noise)) continue;
        counted++;
        changed += has_moved(before[i], after[i], noise);
    }
    if (!counted) {
        *search = (kf_terms_search){.high = 1, .repeats = REPEATS, .terms = 1};
        return;
    }
    if (search->high - search->low > 1) {
        if ((double)changed > 0.6 * (double)counted)
            search->low = depth(search);
        else
            search->high = depth(search);
        return;
    }
    search->repeats++;
    search->seen += counted;
    search->changed += changed;
    if (!is_complete(search)) return;
    /* One element may have misled the bisection. Goes to the depth at which some change. */
    int step = search->changed > search->seen * 9 / 10 ? 1
               : search->changed < search->seen / 10   ? -1
                                                       : 0;
    if (step && search->corrections < DEEPEST && search->low + step >= 0) {
        search->low += step, search->high += step, search->corrections++;
        search->repeats = 0, search->seen = search->changed = 0;
        return;
    }
    /* An element of K terms stays with probability (1 - share)^K. */
    double part = fmin((double)search->changed, (double)search->seen - 0.5) / (double)search->seen;
    search->terms = fmax(1, log1p(-part) / log1p(-exp2(-2.0 * search->high)));
}

double kf_terms_varied(const kf_problem_argument *arguments, int count, int varied, double terms)
{
    if (varied < 0 || kf_dtype_is_float(arguments[varied].dtype)) return terms;
    for (int i = 0; i < count; i++)
        if ((arguments[i].kind == KF_INPUT || arguments[i].kind == KF_INOUT) &&
            kf_dtype_is_float(arguments[i].dtype))
            terms = fmax(terms, (double)arguments[i].elements);
    return terms;
}

/* Products of integers and other numbers have many values. */
#define MOSTLY 4

double kf_terms_of_integers(const double found[KF_MOVED_OTHERS + 1])
{
    double integers = found[KF_MOVED_INTEGERS];
    return integers > MOSTLY * found[KF_MOVED_OTHERS] ? integers : 0;
}

/* Few rows show half of the terms, or twice as many. */
#define UNCERTAINTY 2
#define MOST_TERMS 0x1p18

/* Integers of the arguments. */
typedef struct integers {
    /* numbers of the smallest range */
    double range;
    /* of the largest input */
    double elements;
    /* part of them that is not 0 */
    double nonzero;
} integers;

static integers find_integers(const kf_problem_argument *arguments, int count)
{
    integers found = {INFINITY, 0, 1};
    for (int i = 0; i < count; i++) {
        const kf_distribution *d = &arguments[i].distribution;
        if (!kf_condition_belongs(&arguments[i], KF_MOVED_INTEGERS, false)) continue;
        double range = d->kind == KF_SIGNS ? 2 : fmax(d->b - d->a, 1);
        found.range = fmin(found.range, range);
        found.elements = fmax(found.elements, (double)arguments[i].elements);
        if (d->kind != KF_SIGNS && d->a <= 0 && d->b > 0 && range > 1)
            found.nonzero = fmin(found.nonzero, 1 - 1 / range);
    }
    return found;
}

/* Returns how many of the rounding errors may have one direction (compare.h). Zeros did not move,
 * and are terms of a variance, too. */
static double one_way_of(double terms, integers in, bool equal)
{
    double most = fmin(fmin(UNCERTAINTY * terms / in.nonzero, in.elements), MOST_TERMS);
    return fmin(most / 3, equal ? INFINITY : 4000 * sqrt(most) / in.range);
}

void kf_terms_apply(const kf_problem_argument *arguments, int count, int varied,
                    kf_variation variation, const kf_error_sums *plain, kf_error_sums *sums)
{
    bool equal = varied >= 0 &&
                 kf_condition_belongs(&arguments[varied], KF_MOVED_INTEGERS, false) &&
                 (variation == KF_VARY_EQUAL || variation == KF_VARY_CLUSTERS);
    sums->terms = kf_terms_varied(arguments, count, varied, plain->terms);
    sums->one_way = variation == KF_VARY_OUTLIER ? sums->terms : 0;
    if (!(plain->integer_terms > 0)) return;
    integers in = find_integers(arguments, count);
    sums->one_way = fmax(sums->one_way, one_way_of(plain->integer_terms, in, equal));
    if (!equal) return;
    sums->least_scale = plain->count > 0 ? sqrt(plain->scale_square / (double)plain->count) : 0;
    sums->least_scale_max = plain->scale_max;
}
