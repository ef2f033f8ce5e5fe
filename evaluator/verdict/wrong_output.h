/* What an output that failed holds: nothing new, a sum onto what was there, or one value. */
#ifndef KFORGE_WRONG_OUTPUT_H
#define KFORGE_WRONG_OUTPUT_H

#include "kforge/argument.h"

/* Counts of elements. Start with zeros but for `allowed`. */
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

#endif
