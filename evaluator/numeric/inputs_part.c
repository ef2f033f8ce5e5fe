/* Draws other values for a part of an input, legal together with those around it. Pure.
 *
 * The judge writes a part while a call may begin that reads it. So each mixture of old and new
 * values is legal, too, if two neighbours are written at once. Only a permutation may have a number
 * twice, for some 0.1 us. */
#include <math.h>
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
    case KF_PERMUTATION:
        if (*start > all - 2) *start = all - 2;
        return all < 2 ? 0 : at_most(count > 2 ? count : 2, all - *start);
    case KF_ONE_HOT: return at_most(count, *start / n * n + n - *start);
    case KF_SORTED:
    case KF_OFFSETS:
        end = at_most(*start + (count > 3 ? count : 3), *start / n * n + n);
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

/* Draws every second value anew, between its neighbours, which stay. */
static void draw_between(const kf_problem_argument *a, kf_key key, const char *before, char *after,
                         int64_t count)
{
    size_t size = kf_dtype_size(a->dtype);
    bool whole = !kf_dtype_is_float(a->dtype);
    memcpy(after, before, (size_t)count * size);
    for (int64_t i = 1; i + 1 < count; i += 2) {
        const char *at = before + (size_t)i * size;
        double low = kf_dtype_load(a->dtype, at - size), high = kf_dtype_load(a->dtype, at + size),
               u = random_unit(key, i);
        if (!(fabs(low) < MOST_EXACT && fabs(high) < MOST_EXACT)) continue;
        double value = whole ? low + floor(u * (high - low + 1)) : fma(u, high - low, low);
        kf_dtype_store(a->dtype, after + (size_t)i * size, fmin(fmax(value, low), high));
    }
}

/* Moves the 1 of a row to a neighbour. */
static void move_one(const kf_problem_argument *a, int64_t start, const char *before, char *after,
                     int64_t count)
{
    size_t size = kf_dtype_size(a->dtype);
    memcpy(after, before, (size_t)count * size);
    for (int64_t i = 0; i < count; i++) {
        int64_t other = ((start + i) ^ 1) - start;
        if (!(kf_dtype_load(a->dtype, before + (size_t)i * size) > 0)) continue;
        if (other < 0 || other >= count) return;
        memcpy(after + (size_t)other * size, before + (size_t)i * size, size);
        memcpy(after + (size_t)i * size, before + (size_t)other * size, size);
        return;
    }
}

void kf_input_part_draw(const kf_problem_argument *a, kf_key key, kf_variation variation,
                        int64_t start, int64_t count, const void *before, void *after)
{
    size_t size = kf_dtype_size(a->dtype);
    switch (a->distribution.kind) {
    case KF_PERMUTATION: { /* a rotation of the part */
        size_t bytes = (size_t)count * size,
               turn = (size_t)(1 + (int64_t)(random_unit(key, 0) * (double)(count - 1))) * size;
        memcpy(after, (const char *)before + turn, bytes - turn);
        memcpy((char *)after + bytes - turn, before, turn);
        return;
    }
    case KF_ONE_HOT: move_one(a, start, before, after, count); return;
    case KF_SORTED:
    case KF_OFFSETS: draw_between(a, key, before, after, count); return;
    case KF_UPPER_TRIANGULAR:
    case KF_LOWER_TRIANGULAR:
    case KF_SYMMETRIC:
    case KF_POSITIVE_DEFINITE: /* Values depend on their place. */
        kf_input_fill(a, key, variation, (void *)((uintptr_t)after - (size_t)start * size), start,
                      count);
        return;
    default: /* The values of all places have one distribution. */
        kf_input_fill(a, key, variation, after, 0, count);
    }
}
