// 8-bit floating formats as storage, with conversions: e4m3 (no infinity, largest value 448) and
// e5m2 (largest value 57344).
#pragma once
#define __CUDA_FP8_H__
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

namespace kfcpu
{

static inline unsigned char encode8(float f, __nv_saturation_t saturate,
                                    __nv_fp8_interpretation_t format)
{
    const int mantissa = format == __NV_E4M3 ? 3 : 2, bias = format == __NV_E4M3 ? 7 : 15;
    const unsigned largest = format == __NV_E4M3 ? 0x7e : 0x7b,
                   overflow = format == __NV_E4M3 ? 0x7f : 0x7c;
    unsigned sign = bits(f) >> 24 & 0x80;
    if (f != f) return (unsigned char)(format == __NV_E4M3 ? sign | 0x7f : 0x7f);
    float a = f < 0 ? -f : f;
    if (a == 0) return (unsigned char)sign;
    if (a > 1e6f) return (unsigned char)(sign | (saturate == __NV_SATFINITE ? largest : overflow));
    // floor(log2 a). It is too small for denormal numbers, but the next line corrects that.
    int exponent = (int)(bits(a) >> 23) - 127;
    int unit = (exponent < 1 - bias ? 1 - bias : exponent) - mantissa;
    // Significand and exponent field in one sum: a carry of the rounded significand increments the
    // exponent.
    int code = (int)rint(ldexp((double)a, -unit)) + ((unit + mantissa + bias - 1) << mantissa);
    if (code > (int)largest) code = (int)(saturate == __NV_SATFINITE ? largest : overflow);
    return (unsigned char)(sign | (unsigned)code);
}

static inline float decode8(unsigned char x, __nv_fp8_interpretation_t format)
{
    const int mantissa = format == __NV_E4M3 ? 3 : 2, bias = format == __NV_E4M3 ? 7 : 15;
    int code = x & 0x7f, field = code >> mantissa, fraction = code & ((1 << mantissa) - 1);
    float a;
    if (format == __NV_E4M3 && code == 0x7f)
        a = NAN;
    else if (format == __NV_E5M2 && field == 31)
        a = fraction ? NAN : INFINITY;
    else
        a = (float)ldexp(field ? fraction + (1 << mantissa) : fraction,
                         (field ? field : 1) - bias - mantissa);
    return x & 0x80 ? -a : a;
}

} // namespace kfcpu

static inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t format)
{
    return kfcpu::encode8(x, saturate, format);
}
static inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                        __nv_fp8_interpretation_t format)
{
    return kfcpu::encode8(kfcpu::odd(x), saturate, format);
}
static inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                         __nv_fp8_interpretation_t format)
{
    return kfcpu::encode8(kfcpu::half_to_float(x.x), saturate, format);
}
static inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x,
                                                             __nv_saturation_t saturate,
                                                             __nv_fp8_interpretation_t format)
{
    return kfcpu::encode8(kfcpu::bfloat_to_float(x.x), saturate, format);
}
static inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate,
                                                            __nv_fp8_interpretation_t format)
{
    return (__nv_fp8x2_storage_t)(kfcpu::encode8(x.x, saturate, format) |
                                  kfcpu::encode8(x.y, saturate, format) << 8);
}
static inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x,
                                                 __nv_fp8_interpretation_t format)
{
    return __half_raw{kfcpu::float_to_half(kfcpu::decode8(x, format))};
}
static inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x,
                                                     __nv_fp8_interpretation_t format)
{
    return __half2_raw{__nv_cvt_fp8_to_halfraw((unsigned char)x, format).x,
                       __nv_cvt_fp8_to_halfraw((unsigned char)(x >> 8), format).x};
}

#define KFCPU_FP8(type, format)                                                                 \
    struct type {                                                                               \
        __nv_fp8_storage_t __x;                                                                 \
        type() = default;                                                                       \
        explicit type(float f) : __x(kfcpu::encode8(f, __NV_SATFINITE, format)) {}              \
        explicit type(double d) : __x(kfcpu::encode8(kfcpu::odd(d), __NV_SATFINITE, format)) {} \
        explicit type(__half h) : type((float)h) {}                                             \
        explicit type(__nv_bfloat16 h) : type((float)h) {}                                      \
        explicit type(int i) : type((double)i) {}                                               \
        explicit type(unsigned i) : type((double)i) {}                                          \
        explicit type(long i) : type((double)i) {}                                              \
        explicit type(long long i) : type((double)i) {}                                         \
        explicit operator float() const { return kfcpu::decode8(__x, format); }                 \
        explicit operator double() const { return kfcpu::decode8(__x, format); }                \
        explicit operator __half() const { return __half(kfcpu::decode8(__x, format)); }        \
        explicit operator __nv_bfloat16() const                                                 \
        {                                                                                       \
            return __nv_bfloat16(kfcpu::decode8(__x, format));                                  \
        }                                                                                       \
        explicit operator int() const { return (int)kfcpu::decode8(__x, format); }              \
        explicit operator bool() const { return (__x & 0x7f) != 0; }                            \
    };                                                                                          \
    struct alignas(2) type##_pair {                                                             \
        __nv_fp8x2_storage_t __x;                                                               \
        type##_pair() = default;                                                                \
        explicit type##_pair(float2 f)                                                          \
            : __x(__nv_cvt_float2_to_fp8x2(f, __NV_SATFINITE, format)) {}                       \
        explicit type##_pair(__half2 h) : type##_pair(__half22float2(h)) {}                     \
        explicit operator float2() const                                                        \
        {                                                                                       \
            return {kfcpu::decode8((unsigned char)__x, format),                                 \
                    kfcpu::decode8((unsigned char)(__x >> 8), format)};                         \
        }                                                                                       \
        explicit operator __half2() const { return __float22half2_rn((float2) * this); }        \
    };                                                                                          \
    struct alignas(4) type##_four {                                                             \
        __nv_fp8x4_storage_t __x;                                                               \
        type##_four() = default;                                                                \
        explicit type##_four(float4 f)                                                          \
            : __x(__nv_cvt_float2_to_fp8x2({f.x, f.y}, __NV_SATFINITE, format) |                \
                  (unsigned)__nv_cvt_float2_to_fp8x2({f.z, f.w}, __NV_SATFINITE, format) << 16) \
        {                                                                                       \
        }                                                                                       \
        explicit operator float4() const                                                        \
        {                                                                                       \
            return {kfcpu::decode8((unsigned char)__x, format),                                 \
                    kfcpu::decode8((unsigned char)(__x >> 8), format),                          \
                    kfcpu::decode8((unsigned char)(__x >> 16), format),                         \
                    kfcpu::decode8((unsigned char)(__x >> 24), format)};                        \
        }                                                                                       \
    };
KFCPU_FP8(__nv_fp8_e4m3, __NV_E4M3)
KFCPU_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef KFCPU_FP8
typedef __nv_fp8_e4m3_pair __nv_fp8x2_e4m3;
typedef __nv_fp8_e5m2_pair __nv_fp8x2_e5m2;
typedef __nv_fp8_e4m3_four __nv_fp8x4_e4m3;
typedef __nv_fp8_e5m2_four __nv_fp8x4_e5m2;
