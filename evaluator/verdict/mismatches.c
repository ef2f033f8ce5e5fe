/* Describes the pattern of wrong elements, because a bug often has a typical one. A missing
 * boundary check leaves a tail, a wrong stride every k-th element, a race a few scattered ones.
 * "last column" points to the loop bound; "17 of 4096 elements" does not.
 *
 * One pass collects the bounding box in rows and columns, the greatest common divisor of the
 * distances, and the values of the wrong elements. */
#include "mismatches.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

kf_mismatches kf_mismatches_begin(const kf_problem_argument *argument, double scale)
{
    int64_t columns = argument->dims > 0 ? argument->shape[argument->dims - 1] : 1;
    kf_mismatches m = {.elements = argument->elements,
                       .columns = columns > 0 ? columns : 1,
                       .first = -1,
                       .most_sane = INFINITY};
    if (!(scale > 0)) scale = 1;
    /* The exponent of random bits is uniform. Of f32's 256 exponents (f16's 32) only a quarter is
     * within 2^±30 (2^±6) of the data's scale. */
    double reach = 0;
    if (argument->dtype == KF_F16)
        reach = 0x1p6;
    else if (kf_dtype_is_float(argument->dtype) && kf_dtype_size(argument->dtype) > 1)
        reach = 0x1p30;
    if (reach > 0)
        m.least_sane = scale / reach, m.most_sane = scale * reach;
    else if (argument->dtype == KF_I32 && scale < 0x1p20)
        m.most_sane = 0x1p26;
    else if (argument->dtype == KF_I64 && scale < 0x1p48)
        m.most_sane = 0x1p56;
    return m;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void kf_mismatch_add(kf_mismatches *m, int64_t index, double expected, double got)
{
    if (index - m->row_first >= m->columns)
        m->row = index / m->columns, m->row_first = m->row * m->columns;
    int64_t row = m->row, column = index - m->row_first;
    if (m->count == 0) {
        m->first = index;
        m->first_expected = expected;
        m->first_got = got;
        m->same_value = true;
        m->least_row = row;
        m->least_column = m->most_column = column;
    } else {
        m->stride = m->stride == 1 ? 1 : common_divisor(m->stride, index - m->last);
        m->same_value =
            m->same_value && (got == m->first_got || (isnan(got) && isnan(m->first_got)));
    }
    m->last = index;
    m->most_row = row;
    if (column < m->least_column) m->least_column = column;
    if (column > m->most_column) m->most_column = column;
    m->count++;
    m->nan += isnan(got);
    m->overflowed += !isfinite(got) && isfinite(expected);
    double magnitude = fabs(got);
    bool absurd = !(magnitude <= m->most_sane) || (magnitude < m->least_sane && got != 0);
    m->absurd += absurd;
}

static const char *ordinal_ending(int64_t n)
{
    if (n % 100 >= 11 && n % 100 <= 13) return "th";
    return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

static void describe_place(const kf_mismatches *m, char *text, size_t size)
{
    int64_t rows = m->elements / m->columns, height = m->most_row - m->least_row + 1,
            width = m->most_column - m->least_column + 1;
    bool matrix = rows > 1 && m->columns > 1;
    if (m->count == m->elements)
        snprintf(text, size, "everywhere");
    else if (m->count == 1)
        snprintf(text, size, "element %" PRId64, m->first);
    else if (m->last - m->first + 1 == m->count && m->last == m->elements - 1) {
        if (matrix && height == 1 && m->count == m->columns)
            snprintf(text, size, "last row");
        else
            snprintf(text, size, "tail from %" PRId64, m->first);
    } else if (matrix && height == 1 && m->count == m->columns)
        snprintf(text, size, "row %" PRId64, m->least_row);
    else if (m->last - m->first + 1 == m->count)
        snprintf(text, size, "elements %" PRId64 " to %" PRId64, m->first, m->last);
    else if (matrix && width == 1 && m->count == rows) {
        if (m->least_column == m->columns - 1)
            snprintf(text, size, "last column");
        else
            snprintf(text, size, "column %" PRId64, m->least_column);
    } else if (matrix && m->count == height * width && width < m->columns) {
        snprintf(text, size, "rows %" PRId64 "-%" PRId64 ", columns %" PRId64 "-%" PRId64,
                 m->least_row, m->most_row, m->least_column, m->most_column);
    } else if (m->stride > 1 && m->count == (m->last - m->first) / m->stride + 1)
        snprintf(text, size, "every %" PRId64 "%s from %" PRId64, m->stride,
                 ordinal_ending(m->stride), m->first);
    else if (m->count > m->elements - m->elements / 100)
        snprintf(text, size, "nearly everywhere");
    else if (m->count <= m->elements / 100 + 8)
        snprintf(text, size, "%" PRId64 " scattered%s", m->count,
                 m->overflowed ? "" : ", like a race");
    else
        snprintf(text, size, "scattered over %" PRId64 " to %" PRId64, m->first, m->last);
}

void kf_mismatches_describe(const kf_mismatches *m, char *text, size_t size)
{
    text[0] = '\0';
    if (m->count == 0 || size == 0) return;
    describe_place(m, text, size);
    size_t length = strlen(text);
    char *end = text + length;
    size -= length;
    if (m->nan == m->count)
        snprintf(end, size, ", NaN");
    else if (m->same_value && m->count > 1 && m->first_got == 0)
        snprintf(end, size, ", zeros");
    else if (m->same_value && m->count > 1)
        snprintf(end, size, ", all %g", m->first_got);
    else if (m->count >= 4 && 2 * (m->absurd - m->overflowed) > m->count - m->overflowed)
        snprintf(end, size, ", random values");
    else if (m->overflowed)
        snprintf(end, size, ", %" PRId64 " NaN or infinite", m->overflowed);
}
