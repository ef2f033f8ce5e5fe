/* Conversion between numbers and the bits of an element, shared by CPU and CUDA (inputs_formula.h
 * has the rules for equal results). */
#ifndef KFORGE_DTYPE_FORMULA_H
#define KFORGE_DTYPE_FORMULA_H

#include "inputs_formula.h"

/* Encodes |value| in a format with `mantissa` bits and exponent bias `bias`. `most` holds the float
 * bits of its largest finite value. Normal results: add half a unit, less the bit that makes ties
 * even, rebias and shift. Subnormal results: adding a float with a last place equal to the format's
 * smallest subnormal makes the processor round there. */
KF_FORMULA uint32_t kf_encode_float(uint32_t bits, int mantissa, int bias, uint32_t most)
{
    int shift = 23 - mantissa;
    uint32_t magnitude = bits & 0x7fffffff;
    magnitude = magnitude < most ? magnitude : most;
    uint32_t normal = (magnitude + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1) -
                       ((uint32_t)(127 - bias) << 23)) >>
                      shift;
    uint32_t magic = (uint32_t)(127 + 1 - bias - mantissa + 23) << 23;
    uint32_t subnormal =
        kf_bits_of_float(kf_float_of_bits(magnitude) + kf_float_of_bits(magic)) - magic;
    return magnitude < (uint32_t)(127 + 1 - bias) << 23 ? subnormal : normal;
}

/* Round a finite float to a narrow format, to nearest even. Values that would overflow become the
 * largest finite value. */
KF_FORMULA uint16_t kf_f16_of_float(float value)
{
    uint32_t bits = kf_bits_of_float(value);
    return (uint16_t)(kf_encode_float(bits, 10, 15, 0x477fe000) | (bits >> 16 & 0x8000));
}

KF_FORMULA uint16_t kf_bf16_of_float(float value)
{
    uint32_t bits = kf_bits_of_float(value), magnitude = bits & 0x7fffffff;
    magnitude = magnitude < 0x7f7f0000 ? magnitude : 0x7f7f0000;
    return (uint16_t)((magnitude + 0x7fff + (magnitude >> 16 & 1)) >> 16 | (bits >> 16 & 0x8000));
}

KF_FORMULA uint8_t kf_f8_of_float(float value, int mantissa)
{
    uint32_t bits = kf_bits_of_float(value);
    uint32_t code = mantissa == 3 ? kf_encode_float(bits, 3, 7, 0x43e00000)
                                  : kf_encode_float(bits, 2, 15, 0x47600000);
    return (uint8_t)(code | (bits >> 24 & 0x80));
}

/* Rounds a double once to a format without a C type. `has_infinity` 0: the all-ones exponent holds
 * numbers, and only all ones is NaN. */
KF_FORMULA uint32_t kf_narrow_encode(double value, int exponent_bits, int mantissa_bits,
                                     int has_infinity)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t sign = signbit(value) ? 1u << (exponent_bits + mantissa_bits) : 0;
    uint32_t ones = (1u << (exponent_bits + mantissa_bits)) - 1; /* all but the sign */
    uint32_t infinity = has_infinity ? ones & ~((1u << mantissa_bits) - 1) : ones;
    if (isnan(value)) return sign | (has_infinity ? infinity | 1u << (mantissa_bits - 1) : ones);
    double magnitude = fabs(value);
    if (magnitude == 0) return sign;
    if (isinf(magnitude)) return sign | infinity;
    int exponent = ilogb(magnitude);
    if (exponent > bias + 1) return sign | infinity; /* also keeps the shifts below in range */
    if (exponent < 1 - bias) exponent = 1 - bias;    /* subnormal: fixed quantum */
    /* The significand in units of the last place, rounded to nearest even. A carry into the
     * exponent gives the correct result. */
    uint32_t units = (uint32_t)rint(ldexp(magnitude, mantissa_bits - exponent));
    uint32_t bits = ((uint32_t)(exponent + bias - 1) << mantissa_bits) + units;
    return sign | (bits < infinity ? bits : infinity);
}

/* Converts a narrow magnitude (without sign) to float. Subnormals: puts the mantissa after the
 * implicit one of the smallest normal number, then subtracts that number. */
KF_FORMULA float kf_decode_narrow(uint32_t magnitude, int mantissa, int bias, uint32_t infinity)
{
    uint32_t smallest = (uint32_t)(127 + 1 - bias) << 23, bits = magnitude << (23 - mantissa);
    float subnormal = kf_float_of_bits(bits + smallest) - kf_float_of_bits(smallest);
    uint32_t normal = bits + ((uint32_t)(127 - bias) << 23);
    uint32_t special = infinity == 0x7f /* e4m3 */ ? 0x7fc00000 : bits | 0x7f800000;
    normal = magnitude >= infinity ? special : normal;
    return magnitude < 1u << mantissa ? subnormal : kf_float_of_bits(normal);
}

KF_FORMULA float kf_float_of_f16(uint16_t element)
{
    float magnitude = kf_decode_narrow(element & 0x7fffu, 10, 15, 0x7c00);
    return kf_float_of_bits(kf_bits_of_float(magnitude) | (uint32_t)(element >> 15) << 31);
}

KF_FORMULA float kf_float_of_f8(uint8_t element, int mantissa)
{
    float magnitude = mantissa == 3 ? kf_decode_narrow(element & 0x7fu, 3, 7, 0x7f)
                                    : kf_decode_narrow(element & 0x7fu, 2, 15, 0x7c);
    return kf_float_of_bits(kf_bits_of_float(magnitude) | (uint32_t)(element >> 7) << 31);
}

#endif
