/* Draws other values for a part of an input, legal together with those around it. Pure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/inputs.h"
#include "philox.h"

/* Integers beyond this are no exact doubles. */
#define MOST_EXACT 0x1p53

static int64_t last_axis(const kf_problem_argument *a)
{
    return a->dims > 0 && a->shape[a->dims - 1] > 0 ? a->shape[a->dims - 1] : 1;
}

static int64_t row_axis(const kf_problem_argument *a)
{
    return a->dims > 1 && a->shape[a->dims - 2] > 0 ? a->shape[a->dims - 2] : 1;
}

bool kf_input_is_structured(const kf_problem_argument *argument)
{
    switch (argument->distribution.kind) {
    case KF_NORMAL:
    case KF_UNIFORM:
    case KF_INTEGERS:
    case KF_SPARSE:
    case KF_SIGNS:
    case KF_CONSTANT: return false;
    default: return true;
    }
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t kf_input_part(const kf_problem_argument *a, int64_t *start, int64_t count)
{
    int64_t n = last_axis(a), rows = row_axis(a), all = a->elements, end;
    switch (a->distribution.kind) {
    case KF_NORMAL:
    case KF_UNIFORM:
    case KF_INTEGERS:
    case KF_SPARSE:
    case KF_SIGNS:
        /* Whole pairs, because a variation may have them cancel (KF_VARY_CANCELLATION). */
        *start -= *start % 2;
        return at_most(count + count % 2, all - *start);
    case KF_UPPER_TRIANGULAR:
    case KF_LOWER_TRIANGULAR: return at_most(count, all - *start);
    case KF_SYMMETRIC:
    case KF_POSITIVE_DEFINITE: /* one element of a diagonal: the others are in two places */
        *start = *start / (rows * n) * (rows * n) + *start / n % rows * (n + 1);
        return rows == n && count ? 1 : 0;
    case KF_PERMUTATION: return all - *start < 2 || count < 2 ? 0 : at_most(count, all - *start);
    case KF_ONE_HOT: /* whole rows */
        *start -= *start % n;
        return count / n * n < all - *start ? count / n * n : all - *start;
    case KF_SORTED: /* in one row, whose ends stay */
        end = at_most(*start + count, *start / n * n + n);
        return end - *start < 3 ? 0 : end - *start;
    case KF_OFFSETS: /* The first and the last stay. */
        if (*start < 1) *start = 1;
        end = at_most(*start + count, all - 1);
        return end - *start < 3 ? 0 : end - *start;
    default: return 0;
    }
}

static double random_unit(kf_key key, int64_t i)
{
    uint32_t words[4];
    kf_random_words(key, KF_FOR_VALUES, (uint64_t)i, 1, words);
    return (double)((uint64_t)(words[0] >> 5) << 26 | words[1] >> 6) * 0x1p-53;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Draws ascending values between the first and the last of the part, which stay. */
static bool draw_ascending(const kf_problem_argument *a, kf_key key, const char *before, char *after,
                           int64_t count)
{
    size_t size = kf_dtype_size(a->dtype);
    double low = kf_dtype_load(a->dtype, before),
           high = kf_dtype_load(a->dtype, before + (size_t)(count - 1) * size),
           *values = malloc((size_t)count * sizeof *values);
    bool whole = !kf_dtype_is_float(a->dtype);
    memcpy(after, before, (size_t)count * size);
    if (!values || !(fabs(low) < MOST_EXACT && fabs(high) < MOST_EXACT)) {
        bool given = values != NULL;
        free(values);
        return given;
    }
    for (int64_t i = 0; i < count; i++) {
        double u = random_unit(key, i), value = whole ? low + floor(u * (high - low + 1))
                                                      : fma(u, high - low, low);
        values[i] = fmin(fmax(value, low), high);
    }
    qsort(values, (size_t)count, sizeof *values, ascending);
    for (int64_t i = 1; i < count - 1; i++)
        kf_dtype_store(a->dtype, after + (size_t)i * size, values[i]);
    free(values);
    return true;
}

bool kf_input_part_draw(const kf_problem_argument *a, kf_key key, kf_variation variation,
                        int64_t start, int64_t count, const void *before, void *after)
{
    size_t size = kf_dtype_size(a->dtype), bytes = (size_t)count * size;
    switch (a->distribution.kind) {
    case KF_PERMUTATION: { /* a rotation of the part */
        size_t turn = (size_t)(1 + (int64_t)(random_unit(key, 0) * (double)(count - 1))) * size;
        memcpy(after, (const char *)before + turn, bytes - turn);
        memcpy((char *)after + bytes - turn, before, turn);
        return true;
    }
    case KF_SORTED:
    case KF_OFFSETS: return draw_ascending(a, key, before, after, count);
    case KF_UPPER_TRIANGULAR:
    case KF_LOWER_TRIANGULAR:
    case KF_SYMMETRIC:
    case KF_POSITIVE_DEFINITE: /* Values depend on their place. */
        kf_input_fill(a, key, variation, (void *)((uintptr_t)after - (size_t)start * size), start,
                      count);
        return true;
    default: /* The values of all places, or rows, have one distribution. */
        kf_input_fill(a, key, variation, after, 0, count);
        return true;
    }
}
