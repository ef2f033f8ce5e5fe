/* The treatment of NaN, infinities and overflow in comparisons, shared by CPU and CUDA (compare.h).
 */
#ifndef KFORGE_COMPARE_FORMULA_H
#define KFORGE_COMPARE_FORMULA_H

#include "inputs_formula.h"

/* Makes got and expected comparable as numbers. True if both are finite then. If both are NaN, the
 * same infinity, or beyond the largest number, both become 0: such elements are right, and their
 * size says nothing about the scale of the others. An expected value just beyond the largest number
 * becomes that number, and must not count for the scale (kf_scale_of). False if they differ in
 * kind. `largest` and `roundoff` are those of the output's type; `no_infinity`: f8e4m3. */
KF_FORMULA int kf_comparable(double largest, double roundoff, int no_infinity, double *got,
                             double *expected)
{
    if (isnan(*expected)) {
        int same = isnan(*got) != 0;
        *got = *expected = 0;
        return same;
    }
    double signed_largest = copysign(largest, *expected);
    int same_sign = (signbit(*got) != 0) == (signbit(*expected) != 0),
        overflows = no_infinity ? isnan(*got) != 0 : isinf(*got) && same_sign;
    if (fabs(*expected) > largest) {
        int saturates = *got == signed_largest && (no_infinity || !isinf(*expected));
        if (overflows || saturates) {
            *got = *expected = 0;
            return 1;
        }
        if (isinf(*expected) || fabs(*expected) > largest * (1 + 4 * roundoff)) return 0;
    }
    /* near the largest number one rounding decides between it and infinity */
    int at_edge = fabs(*expected) >= largest * (1 - 4 * roundoff);
    if (at_edge && overflows) *got = signed_largest;
    if (fabs(*expected) > largest) *expected = signed_largest;
    return isfinite(*got) != 0;
}

/* Returns what an expected value counts for the scale, if it is comparable: nothing beyond the
 * largest number of the output's type. Otherwise a candidate could choose if it counts. */
KF_FORMULA double kf_scale_of(double largest, double expected)
{
    return fabs(expected) <= largest ? fabs(expected) : 0;
}

#endif
