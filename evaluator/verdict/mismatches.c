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

/* Fewer elements are alike by chance. */
#define LEAST_ALIKE 8

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
    if ((m->count & (m->count - 1)) == 0) m->middle = index;
    m->most_row = row;
    if (column < m->least_column) m->least_column = column;
    if (column > m->most_column) m->most_column = column;
    m->count++;
    m->nan += isnan(got);
    m->overflowed += !isfinite(got) && isfinite(expected);
    m->signs.expected_negative += expected < 0;
    m->signs.expected_positive += expected > 0;
    m->signs.smaller += got < expected;
    m->signs.larger += got > expected;
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
    bool alike = m->same_value && m->count > 1 && m->nan < m->count;
    const char *sign = m->count < LEAST_ALIKE || !m->signs.one ? ""
                       : m->signs.expected_negative            ? ", all expected < 0"
                                                               : ", all expected > 0";
    if (m->nan == m->count)
        snprintf(end, size, ", NaN");
    else if (alike && m->first_got == 0)
        snprintf(end, size, ", zeros%s", sign);
    else if (alike)
        snprintf(end, size, ", all %g%s", m->first_got, sign);
    else if (m->count >= 4 && 2 * (m->absurd - m->overflowed) > m->count - m->overflowed)
        snprintf(end, size, ", random values");
    else if (m->overflowed)
        snprintf(end, size, ", %" PRId64 " NaN or infinite", m->overflowed);
    else if (*sign)
        snprintf(end, size, "%s", sign);
    else if (m->count >= LEAST_ALIKE &&
             (m->signs.smaller == m->count || m->signs.larger == m->count))
        snprintf(end, size, ", all too %s", m->signs.smaller ? "small" : "large");
}

void kf_pattern_append(char *pattern, size_t size, const char *words)
{
    char *part;
    while (strlen(pattern) + strlen(words) >= size && (part = strrchr(pattern, ','))) *part = '\0';
    size_t length = strlen(pattern);
    snprintf(pattern + length, size - length, "%s", words);
}

/* ---- causes ---------------------------------------------------------------------------------- */

/* Words in a pattern, and what they mostly come from. The first match counts. */
static const struct {
    const char *word, *cause;
    /* rounding has no such pattern */
    bool systematic;
} causes[] = {
    {KF_PATTERN_THREADS,
     "Put __syncthreads() between writing and reading data of other threads: the result depends on "
     "the order of threads.",
     false},
    {KF_PATTERN_ADDED, "Set the output to 0 before adding to it: it still holds old values.",
     false},
    {KF_PATTERN_UNWRITTEN, "Write every element: check grid size, loop bounds and early returns.",
     false},
    {KF_PATTERN_CALLS,
     "Look for a race, a read before the write, or a kept result: the same inputs give another "
     "result.",
     false},
    {" times the expected value", "Check divisors, scales and constants: the error is one factor.",
     true},
    {"the expected value plus ", "Check the constants that are added: the error is one offset.",
     true},
    {" times the expected, plus ",
     "Check divisors, scales and added constants: the error is a factor and an offset.", true},
    {"for each row",
     "Check divisors, constants such as an epsilon, and the values of a row: its error is a factor "
     "and an offset.",
     true},
    {"for each column",
     "Check divisors, constants such as an epsilon, and the values of a column: its error is a "
     "factor and an offset.",
     true},
    /* The place says more than the values: old memory can hold any of them. */
    {"tail from", "Check the grid size and the loop bound: the end of the output is wrong.", false},
    {"last column", "Check the bound of the column loop: the last column is wrong.", false},
    {"last row", "Check the bound of the row loop: the last row is wrong.", false},
    {"NaN", "Look for overflow in exp, 0/0 and reads of uninitialised memory.", false},
    {"inf", "Look for overflow: subtract the maximum before exp, and add in a wider type.", false},
    {"like a race", "Add the missing barrier or atomic: few scattered elements look like a race.",
     false},
    {"random values", "Initialise what the kernel reads: the results look like old memory.", false},
    {"expected < 0",
     "Check how the kernel treats negative values: only negative results are "
     "wrong.",
     false},
    {"expected > 0",
     "Check how the kernel treats positive values: only positive results are "
     "wrong.",
     false},
    {"zeros", "Check that the kernel runs and writes here: the elements are zero.", false},
    {"bits of precision",
     "Check formula and constants, and add long sums in pieces or in a wider type.", false},
    {"every ", "Check the stride of the loop: wrong elements are evenly spaced.", false},
    {"everywhere", "Check formula, constants and index order: nearly every element is wrong.",
     false},
    {"element", "Check the bounds and the index: the wrong elements lie together.", false},
    {"rows ", "Check the tile's bounds: one rectangle of the output is wrong.", false},
    {"column ", "Check the index of that column.", false},
    {"row ", "Check the index of that row.", false},
};

const char *kf_mismatch_cause(const char *pattern, bool inexact)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if ((causes[i].systematic || !inexact) && strstr(pattern, causes[i].word))
            return causes[i].cause;
    return NULL;
}
