// Conversions of the 16-bit floating formats. Arithmetic is done in float and rounded once. float
// has more than twice the precision of these formats plus two bits, so the result is correctly
// rounded (Figueroa, "When is double rounding innocuous?", 1995). Fused multiply-add needs more
// precision and uses double, rounded to odd, so that the second rounding is correct (Boldo and
// Melquiond, 2008).
#pragma once
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "rounding.h"
#if defined(__F16C__) && !defined(__FLT16_MANT_DIG__)
#include <immintrin.h>
#endif

namespace kfcpu
{

static inline uint32_t bits(float a)
{
    return __builtin_bit_cast(uint32_t, a);
}
static inline float from_bits(uint32_t a)
{
    return __builtin_bit_cast(float, a);
}

static inline float half_to_float_in_software(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return from_bits(sign | 0x7f800000 | rest << 13);
    // 2^112 moves the exponent to float's bias. Denormal numbers become normal.
    return from_bits(sign | bits(from_bits(rest << 13) * 0x1p112f));
}
static inline uint16_t float_to_half_in_software(float f)
{
    uint32_t b = bits(f), sign = b >> 16 & 0x8000, rest = b & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7fff);
    if (rest >= 0x47800000) return (uint16_t)(sign | 0x7c00); // 65536 and more
    // Below the smallest normal number. Adding 0.5 leaves the rounded bits of the denormal at the
    // end.
    if (rest < 0x38800000) return (uint16_t)(sign | (bits(from_bits(rest) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}

#if defined(__FLT16_MANT_DIG__)
static inline float half_to_float(uint16_t h)
{
    return (float)__builtin_bit_cast(_Float16, h);
}
static inline uint16_t float_to_half(float f)
{
    return __builtin_bit_cast(uint16_t, (_Float16)f);
}
#elif defined(__aarch64__)
static inline float half_to_float(uint16_t h)
{
    return (float)__builtin_bit_cast(__fp16, h);
}
static inline uint16_t float_to_half(float f)
{
    return __builtin_bit_cast(uint16_t, (__fp16)f);
}
#elif defined(__F16C__)
static inline float half_to_float(uint16_t h)
{
    return _cvtsh_ss(h);
}
static inline uint16_t float_to_half(float f)
{
    return _cvtss_sh(f, 0);
}
#else
static inline float half_to_float(uint16_t h)
{
    return half_to_float_in_software(h);
}
static inline uint16_t float_to_half(float f)
{
    return float_to_half_in_software(f);
}
#endif

static inline float bfloat_to_float(uint16_t h)
{
    return from_bits((uint32_t)h << 16);
}
static inline uint16_t float_to_bfloat(float f)
{
    uint32_t b = bits(f);
    return f != f ? 0x7fff : (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

struct half_format {
    static float widen(uint16_t h) { return half_to_float(h); }
    static uint16_t narrow(float f) { return float_to_half(f); }
};
struct bfloat_format {
    static float widen(uint16_t h) { return bfloat_to_float(h); }
    static uint16_t narrow(float f) { return float_to_bfloat(f); }
};

// Rounds to odd: the last bit of an inexact result is set, which keeps the information about the
// lost bits.
static inline float odd(double d)
{
    float f = (float)d;
    uint32_t b = bits(f);
    if ((double)f == d || d != d || f - f != 0 || (b & 1)) return f;
    return from_bits((fabs((double)f) < fabs(d)) ? b + 1 : b - 1);
}
template <class Format> static inline auto narrow_double(double d)
{
    return Format::narrow(odd(d));
}

template <class Format> static inline auto fma16(float a, float b, float c)
{
    double p = (double)a * b, s = p + c, bb = s - p, e = (p - (s - bb)) + (c - bb);
    if (e != 0 && e == e) {
        uint64_t w = __builtin_bit_cast(uint64_t, s);
        if (!(w & 1)) s = __builtin_bit_cast(double, (e > 0) == (s > 0) ? w + 1 : w - 1);
    }
    return narrow_double<Format>(s);
}

template <class Format> static inline auto narrow_mode(float f, rounding mode)
{
    uint16_t h = Format::narrow(f);
    float back = Format::widen(h);
    if (mode == RN || f != f || back == f) return h;
    // `wanted`: the other neighbour is the result.
    bool up = back > f, wanted = mode == RZ ? (up ? f > 0 : f < 0) : mode == RU ? !up : up;
    if (!wanted) return h;
    if (up) return (uint16_t)(h == 0 ? 0x8001 : h & 0x8000 ? h + 1 : h - 1);
    return (uint16_t)(h == 0x8000 ? 1 : h & 0x8000 ? h - 1 : h + 1);
}

} // namespace kfcpu
