/* Indices into an input with ties (compare.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "kforge/compare.h"

/* An output of indices along one axis of an input: `outer` x `length` x `inner` elements of the
 * input, `outer` x `count` x `inner` indices. */
typedef struct axis {
    int64_t outer, length, count, inner;
} axis;

static int64_t product(const int64_t *shape, int first, int end)
{
    int64_t all = 1;
    for (int d = first; d < end; d++) all *= shape[d];
    return all;
}

/* True if the output has the input's shape, except that axis `at` has another length or is gone. */
static bool is_along(const kf_problem_argument *input, const kf_problem_argument *output, int at,
                     axis *a)
{
    bool gone = output->dims == input->dims - 1;
    if (!gone && output->dims != input->dims) return false;
    for (int d = 0; d < input->dims; d++) {
        int place = gone && d > at ? d - 1 : d;
        if (d != at && input->shape[d] != output->shape[place]) return false;
    }
    *a = (axis){.outer = product(input->shape, 0, at),
                .length = input->shape[at],
                .count = gone ? 1 : output->shape[at],
                .inner = product(input->shape, at + 1, input->dims)};
    return true;
}

static double value_at(const kf_problem_argument *argument, const void *data, int64_t index)
{
    return kf_dtype_load(argument->dtype,
                         (const char *)data + (size_t)index * kf_dtype_size(argument->dtype));
}

/* True if all indices have the right values along this axis, and are not repeated. `seen` has an
 * entry for each place of the axis. */
static bool agree_along(const axis *a, const kf_problem_argument *output, const void *got,
                        const void *expected, const kf_problem_argument *input, const void *data,
                        int64_t *seen)
{
    for (int64_t i = 0; i < a->length; i++) seen[i] = -1;
    for (int64_t row = 0; row < a->outer * a->inner; row++) {
        int64_t first_out = row / a->inner * a->count * a->inner + row % a->inner,
                first_in = row / a->inner * a->length * a->inner + row % a->inner;
        for (int64_t k = 0; k < a->count; k++) {
            int64_t at = first_out + k * a->inner;
            double found = value_at(output, got, at), right = value_at(output, expected, at);
            if (!(found >= 0 && found < (double)a->length && right >= 0 &&
                  right < (double)a->length))
                return false;
            int64_t index = (int64_t)found;
            if (seen[index] == row) return false;
            seen[index] = row;
            double value = value_at(input, data, first_in + index * a->inner),
                   wanted = value_at(input, data, first_in + (int64_t)right * a->inner);
            if (value != wanted && !(isnan(value) && isnan(wanted))) return false;
        }
    }
    return true;
}

/* Elements of an input that are compared to find out if it ranks an output. */
#define RANK_WORK (1 << 22)
/* One in so many first indices has to be at a value with few ties. */
#define RANK_PART 4

/* A value has few ties if less than one in so many elements of its row has it. */
#define TIE_PART 16

/* True if the input may decide which indices are right. If it does, values have few ties, or the
 * oracle takes the first or the last of equal values everywhere, or all values are equal. A mask
 * has many ties, and the oracle chooses among them by other inputs. *alone: no other input can
 * decide, because ties are few and the first index is at the largest or least value of each row. */
static bool may_rank(const axis *a, const kf_problem_argument *output, const void *expected,
                     const kf_problem_argument *input, const void *data, bool *alone)
{
    int64_t rows = a->outer * a->inner, most = RANK_WORK / a->length + 1,
            step = (rows + most - 1) / most, seen = 0, few = 0, first = 0, last = 0, level = 0,
            top = 0, bottom = 0;
    for (int64_t row = 0; row < rows; row += step, seen++) {
        int64_t first_out = row / a->inner * a->count * a->inner + row % a->inner,
                first_in = row / a->inner * a->length * a->inner + row % a->inner,
                right = (int64_t)value_at(output, expected, first_out), before = 0, behind = 0;
        double wanted = value_at(input, data, first_in + right * a->inner);
        bool higher = false, lower = false;
        for (int64_t i = 0; i < a->length; i++) {
            double value = value_at(input, data, first_in + i * a->inner);
            bool same = value == wanted || (isnan(value) && isnan(wanted));
            before += same && i < right;
            behind += same && i > right;
            higher = higher || value > wanted;
            lower = lower || value < wanted;
        }
        few += (before + behind) * TIE_PART < a->length;
        top += !higher;
        bottom += !lower;
        first += !before;
        last += !behind;
        level += before + behind + 1 == a->length;
    }
    bool rare = few * RANK_PART >= seen;
    *alone = rare && (top == seen || bottom == seen);
    return rare || first == seen || last == seen || level == seen;
}

static bool has_shape(const kf_problem_argument *input, const kf_problem_argument *other)
{
    return input->dims == other->dims &&
           memcmp(input->shape, other->shape, (size_t)input->dims * sizeof *input->shape) == 0;
}

/* True if the indices agree along this axis of one input, which ranks them, and of all inputs of
 * its shape that may decide, too. */
static bool agree_in_all(const axis *a, const kf_problem_argument *output, const void *got,
                         const void *expected, const kf_indexed *inputs, int which, int count,
                         int64_t *seen)
{
    const kf_problem_argument *input = inputs[which].argument;
    bool alone = false;
    if (!agree_along(a, output, got, expected, input, inputs[which].data, seen) ||
        !may_rank(a, output, expected, input, inputs[which].data, &alone))
        return false;
    for (int i = 0; i < count && !alone; i++)
        if (i != which && has_shape(input, inputs[i].argument) &&
            !agree_along(a, output, got, expected, inputs[i].argument, inputs[i].data, seen))
            return false;
    return true;
}

bool kf_may_be_indexed(const kf_problem_argument *output, const kf_problem_argument *input)
{
    axis a;
    if (kf_dtype_is_float(output->dtype) || !input->elements) return false;
    for (int at = 0; at < input->dims; at++)
        if (is_along(input, output, at, &a)) return true;
    return output->elements == 1;
}

bool kf_indices_agree(const kf_problem_argument *output, const void *got, const void *expected,
                      const kf_indexed *inputs, int count)
{
    for (int i = 0; i < count; i++) {
        const kf_problem_argument *input = inputs[i].argument;
        if (!kf_dtype_is_float(input->dtype) || !kf_may_be_indexed(output, input)) continue;
        kf_autofree int64_t *seen = malloc((size_t)input->elements * sizeof *seen);
        if (!seen) return false;
        axis a;
        for (int at = input->dims - 1; at >= 0; at--)
            if (is_along(input, output, at, &a) &&
                agree_in_all(&a, output, got, expected, inputs, i, count, seen))
                return true;
        a = (axis){.outer = 1, .length = input->elements, .count = output->elements, .inner = 1};
        if (output->elements == 1 &&
            agree_in_all(&a, output, got, expected, inputs, i, count, seen))
            return true;
    }
    return false;
}
