/* The treatment of NaN, infinities and overflow in comparisons, shared by CPU and CUDA (compare.h).
 */
#ifndef KFORGE_COMPARE_FORMULA_H
#define KFORGE_COMPARE_FORMULA_H

#include "inputs_formula.h"

/* Makes got and expected comparable as numbers. True if both are finite then. If both are the same
 * NaN or infinity, both become 0. False if they differ in kind. `largest` and `roundoff` are those
 * of the output's type; `no_infinity`: f8e4m3. */
KF_FORMULA int kf_comparable(double largest, double roundoff, int no_infinity, double *got,
                             double *expected)
{
    if (isnan(*expected)) {
        int same = isnan(*got) != 0;
        *got = *expected = 0;
        return same;
    }
    /* near the largest number one rounding decides between it and infinity */
    double signed_largest = copysign(largest, *expected);
    int at_edge = fabs(*expected) >= largest * (1 - 4 * roundoff);
    int same_sign = (signbit(*got) != 0) == (signbit(*expected) != 0);
    if (at_edge && (no_infinity ? isnan(*got) != 0 : isinf(*got) && same_sign))
        *got = signed_largest;
    else if (isinf(*expected) && !(no_infinity && *got == signed_largest))
        return 0;
    if (fabs(*expected) > largest) *expected = signed_largest;
    return isfinite(*got) != 0;
}

#endif
