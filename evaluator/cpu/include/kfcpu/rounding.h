// Arithmetic and conversions with a rounding mode in their name: _rn to nearest even, _rz towards
// zero, _ru up, _rd down.
//
// The processor always rounds to nearest. The error of a nearest result is known exactly (two-sum,
// fused multiply-add). The sign of the error shows whether another mode rounds to the neighbouring
// number.
#pragma once
#include <float.h>
#include <limits>
#include <math.h>
#include <string.h>

namespace kfcpu
{

enum rounding { RN, RZ, RU, RD };

// Rounds RESULT, the number nearest to a value that lies ERROR above it. Only the sign of ERROR
// counts.
template <class T> static inline auto direct(T result, T error, rounding mode, bool finite_input)
{
    if (mode == RN || result != result) return result;
    if (result == std::numeric_limits<T>::infinity() ||
        result == -std::numeric_limits<T>::infinity()) {
        bool down = mode == RZ || (result > 0 ? mode == RD : mode == RU);
        return finite_input && down
                   ? (result > 0 ? std::numeric_limits<T>::max() : -std::numeric_limits<T>::max())
                   : result;
    }
    if (error == 0 || error != error) return result;
    bool above = error > 0; // the true value is above the result
    if (mode == RU || (mode == RZ && (result < 0 || (result == 0 && !above))))
        return above ? nextafter(result, std::numeric_limits<T>::infinity()) : result;
    return above ? result : nextafter(result, -std::numeric_limits<T>::infinity());
}
template <class T> static inline auto finite2(T a, T b)
{
    return a - a == 0 && b - b == 0;
}

// Knuth's two-sum: s + e == a + b exactly. Needs a build without -ffast-math, which would
// reassociate.
template <class T> static inline auto add(T a, T b, rounding mode)
{
    T s = a + b;
    if (mode == RN) return s;
    T bb = s - a, e = (a - (s - bb)) + (b - bb);
    return direct(s, e, mode, finite2(a, b));
}
static inline float fused(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
static inline double fused(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
template <class T> static inline auto mul(T a, T b, rounding mode)
{
    T p = a * b;
    return mode == RN ? p : direct(p, fused(a, b, -p), mode, finite2(a, b));
}
template <class T> static inline auto div(T a, T b, rounding mode)
{
    T q = a / b;
    if (mode == RN) return q;
    T rest = fused(-q, b, a); // a - q b
    return direct(q, b < 0 ? -rest : rest, mode, finite2(a, b) && b != 0);
}
template <class T> static inline auto root(T a, rounding mode)
{
    T r = (T)sqrt(a);
    return mode == RN ? r : direct(r, fused(-r, r, a), mode, true);
}
static inline float fma(float a, float b, float c, rounding mode)
{
    float r = __builtin_fmaf(a, b, c);
    if (mode == RN) return r;
    double p = (double)a * b, s = p + c, bb = s - p, e = (p - (s - bb)) + (c - bb); // p is exact
    double above = (s - r) + e;
    return direct(r,
                  above > 0   ? 1.0f
                  : above < 0 ? -1.0f
                              : 0.0f,
                  mode, finite2(a, b) && c - c == 0);
}
static inline double fma(double a, double b, double c, rounding mode)
{
    double r = __builtin_fma(a, b, c);
    if (mode == RN) return r;
    double p = a * b, low = __builtin_fma(a, b, -p); // a b == p + low
    double s = p + c, bb = s - p, e = (p - (s - bb)) + (c - bb);
    double above = (s - r) + (e + low);
    return direct(r, above, mode, finite2(a, b) && c - c == 0);
}
static inline float narrow(double a, rounding mode)
{
    float r = (float)a;
    double error = a - r;
    return direct(r, error > 0 ? 1.0f : error < 0 ? -1.0f : 0.0f, mode, a - a == 0);
}
template <class F> static inline auto whole(F a, rounding mode)
{
    return mode == RN   ? (F)rint((double)a)
           : mode == RZ ? (F)trunc((double)a)
           : mode == RU ? (F)ceil((double)a)
                        : (F)floor((double)a);
}
// CUDA's conversions to integers saturate. NaN becomes 0 (32 bits) or the most negative number (64
// bits).
template <class I, class F> static inline auto to_integer(F a, rounding mode)
{
    F r = whole(a, mode);
    if (r != r) return sizeof(I) == 8 ? (I)((uint64_t)1 << 63) : (I)0;
    if (r >= (F)std::numeric_limits<I>::max()) return std::numeric_limits<I>::max();
    if (r <= (F)std::numeric_limits<I>::min()) return std::numeric_limits<I>::min();
    return (I)r;
}
// Integers of 64 bits to a floating type. The error is exact in 128 bits.
template <class F, class I> static inline auto from_integer(I a, rounding mode)
{
    F r = (F)a;
    if (mode == RN) return r;
    __int128 error = (__int128)a - (__int128)r;
    return direct(r, error > 0 ? (F)1 : error < 0 ? (F)-1 : (F)0, mode, true);
}

} // namespace kfcpu

#define KFCPU_MODES(define) define(rn, RN) define(rz, RZ) define(ru, RU) define(rd, RD)
#define KFCPU_ARITHMETIC(suffix, mode)                                \
    static inline float __fadd_##suffix(float a, float b)             \
    {                                                                 \
        return kfcpu::add(a, b, kfcpu::mode);                         \
    }                                                                 \
    static inline float __fsub_##suffix(float a, float b)             \
    {                                                                 \
        return kfcpu::add(a, -b, kfcpu::mode);                        \
    }                                                                 \
    static inline float __fmul_##suffix(float a, float b)             \
    {                                                                 \
        return kfcpu::mul(a, b, kfcpu::mode);                         \
    }                                                                 \
    static inline float __fmaf_##suffix(float a, float b, float c)    \
    {                                                                 \
        return kfcpu::fma(a, b, c, kfcpu::mode);                      \
    }                                                                 \
    static inline float __fdiv_##suffix(float a, float b)             \
    {                                                                 \
        return kfcpu::div(a, b, kfcpu::mode);                         \
    }                                                                 \
    static inline float __frcp_##suffix(float a)                      \
    {                                                                 \
        return kfcpu::div(1.0f, a, kfcpu::mode);                      \
    }                                                                 \
    static inline float __fsqrt_##suffix(float a)                     \
    {                                                                 \
        return kfcpu::root(a, kfcpu::mode);                           \
    }                                                                 \
    static inline double __dadd_##suffix(double a, double b)          \
    {                                                                 \
        return kfcpu::add(a, b, kfcpu::mode);                         \
    }                                                                 \
    static inline double __dsub_##suffix(double a, double b)          \
    {                                                                 \
        return kfcpu::add(a, -b, kfcpu::mode);                        \
    }                                                                 \
    static inline double __dmul_##suffix(double a, double b)          \
    {                                                                 \
        return kfcpu::mul(a, b, kfcpu::mode);                         \
    }                                                                 \
    static inline double __fma_##suffix(double a, double b, double c) \
    {                                                                 \
        return kfcpu::fma(a, b, c, kfcpu::mode);                      \
    }                                                                 \
    static inline double __ddiv_##suffix(double a, double b)          \
    {                                                                 \
        return kfcpu::div(a, b, kfcpu::mode);                         \
    }                                                                 \
    static inline double __drcp_##suffix(double a)                    \
    {                                                                 \
        return kfcpu::div(1.0, a, kfcpu::mode);                       \
    }                                                                 \
    static inline double __dsqrt_##suffix(double a)                   \
    {                                                                 \
        return kfcpu::root(a, kfcpu::mode);                           \
    }                                                                 \
    static inline float __double2float_##suffix(double a)             \
    {                                                                 \
        return kfcpu::narrow(a, kfcpu::mode);                         \
    }                                                                 \
    static inline int __float2int_##suffix(float a)                   \
    {                                                                 \
        return kfcpu::to_integer<int>(a, kfcpu::mode);                \
    }                                                                 \
    static inline unsigned __float2uint_##suffix(float a)             \
    {                                                                 \
        return kfcpu::to_integer<unsigned>(a, kfcpu::mode);           \
    }                                                                 \
    static inline long long __float2ll_##suffix(float a)              \
    {                                                                 \
        return kfcpu::to_integer<long long>(a, kfcpu::mode);          \
    }                                                                 \
    static inline unsigned long long __float2ull_##suffix(float a)    \
    {                                                                 \
        return kfcpu::to_integer<unsigned long long>(a, kfcpu::mode); \
    }                                                                 \
    static inline int __double2int_##suffix(double a)                 \
    {                                                                 \
        return kfcpu::to_integer<int>(a, kfcpu::mode);                \
    }                                                                 \
    static inline unsigned __double2uint_##suffix(double a)           \
    {                                                                 \
        return kfcpu::to_integer<unsigned>(a, kfcpu::mode);           \
    }                                                                 \
    static inline long long __double2ll_##suffix(double a)            \
    {                                                                 \
        return kfcpu::to_integer<long long>(a, kfcpu::mode);          \
    }                                                                 \
    static inline unsigned long long __double2ull_##suffix(double a)  \
    {                                                                 \
        return kfcpu::to_integer<unsigned long long>(a, kfcpu::mode); \
    }                                                                 \
    static inline float __int2float_##suffix(int a)                   \
    {                                                                 \
        return kfcpu::from_integer<float>(a, kfcpu::mode);            \
    }                                                                 \
    static inline float __uint2float_##suffix(unsigned a)             \
    {                                                                 \
        return kfcpu::from_integer<float>(a, kfcpu::mode);            \
    }                                                                 \
    static inline float __ll2float_##suffix(long long a)              \
    {                                                                 \
        return kfcpu::from_integer<float>(a, kfcpu::mode);            \
    }                                                                 \
    static inline float __ull2float_##suffix(unsigned long long a)    \
    {                                                                 \
        return kfcpu::from_integer<float>(a, kfcpu::mode);            \
    }                                                                 \
    static inline double __ll2double_##suffix(long long a)            \
    {                                                                 \
        return kfcpu::from_integer<double>(a, kfcpu::mode);           \
    }                                                                 \
    static inline double __ull2double_##suffix(unsigned long long a)  \
    {                                                                 \
        return kfcpu::from_integer<double>(a, kfcpu::mode);           \
    }
KFCPU_MODES(KFCPU_ARITHMETIC)
#undef KFCPU_ARITHMETIC
static inline double __int2double_rn(int a)
{
    return a;
}
static inline double __uint2double_rn(unsigned a)
{
    return a;
}

static inline int __float_as_int(float a)
{
    return __builtin_bit_cast(int, a);
}
static inline unsigned __float_as_uint(float a)
{
    return __builtin_bit_cast(unsigned, a);
}
static inline float __int_as_float(int a)
{
    return __builtin_bit_cast(float, a);
}
static inline float __uint_as_float(unsigned a)
{
    return __builtin_bit_cast(float, a);
}
static inline long long __double_as_longlong(double a)
{
    return __builtin_bit_cast(long long, a);
}
static inline double __longlong_as_double(long long a)
{
    return __builtin_bit_cast(double, a);
}
static inline int __double2hiint(double a)
{
    return (int)(__double_as_longlong(a) >> 32);
}
static inline int __double2loint(double a)
{
    return (int)__double_as_longlong(a);
}
static inline double __hiloint2double(int high, int low)
{
    return __longlong_as_double(
        (long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
