// Half precision: __half, __half2 and their functions.
#pragma once
#define __CUDA_FP16_H__
#include "kfcpu/device.h"
#include "kfcpu/small_formats.h"

struct __half_raw {
    unsigned short x;
};
struct __half2_raw {
    unsigned short x, y;
};

namespace kfcpu
{
static inline float unit(float f)
{
    return f > 0 ? (f < 1 ? f : 1.0f) : 0.0f;
}
static inline bool nan2(float a, float b)
{
    return a != a || b != b;
}
} // namespace kfcpu

#define T __half
#define T2 __half2
#define RAW __half_raw
#define FORMAT kfcpu::half_format
#define N(a, b) a##half##b
#define N2(a, b) a##half2##b
#define NARROW narrow_half
#define NARROW_MODE narrow_half_mode
#include "kfcpu/small_float.inc"

static inline __half2 __half2half2(__half a)
{
    return __half2(a, a);
}

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
