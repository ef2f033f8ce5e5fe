/* What an output that failed holds: nothing new, a sum onto what was there, one value, or the
 * expected values with a factor and an offset. */
#ifndef KFORGE_WRONG_OUTPUT_H
#define KFORGE_WRONG_OUTPUT_H

#include "kforge/argument.h"

/* Sums over a group of elements, for a least-squares fit of the error to the expected value. */
typedef struct kf_error_fit {
    double count, expected, error, got;
    double expected_square, error_square, got_square, product;
    /* the largest square of an error */
    double most;
} kf_error_fit;
#define KF_FIT_COLUMNS 32

/* Counts of elements. Start with zeros but for `allowed` and `columns`. */
typedef struct kf_wrong_output {
    /* the absolute error with which a float still is right: a sum that cancels is inexact */
    double allowed;
    int64_t elements;
    /* with exactly the bits that were there before the call */
    int64_t unwritten;
    /* right if what was there before is taken off, and wrong otherwise */
    int64_t added;
    /* unwritten, added to, or right */
    int64_t explained;
    /* equal to the first element; expected values equal to the first one */
    int64_t same, expected_same;
    double first, first_expected;
    /* floats that are wrong, be it by less than is allowed; those that are no zero in both */
    int64_t off, telling;
    /* length of the last axis; 0: no rows */
    int64_t columns;
    /* over all elements, over the present row, and over some columns */
    kf_error_fit all, row, column[KF_FIT_COLUMNS];
    /* sums over the rows: what the fit of each leaves, its degrees of freedom, what it has to fit
     */
    double row_left, row_freedom, row_spread;
} kf_wrong_output;

/* Adds `count` elements. `expected` as in compare.h, `before`: the bits before the call, NULL if
 * they are unknown. */
void kf_wrong_output_add(kf_wrong_output *w, kf_dtype dtype, const void *got, const void *expected,
                         const void *before, int64_t count);
/* True if the call wrote no element. */
static inline bool kf_is_unwritten(const kf_wrong_output *w)
{
    return w->elements > 0 && w->unwritten == w->elements;
}
/* True if the call added to what was there, in place of writing. */
static inline bool kf_is_added_to(const kf_wrong_output *w)
{
    return w->added > 0 && w->explained == w->elements;
}
/* True if all elements are one finite number, and those expected are not. */
bool kf_is_constant(const kf_wrong_output *w);
/* Writes "0.5 times the expected value" or "one factor and offset for each row" if a fit explains
 * 15/16 of the square of the error, which rounding does not, and most elements are wrong. False
 * without such a fit. */
bool kf_wrong_output_relation(const kf_wrong_output *w, char *text, size_t size);

#endif
