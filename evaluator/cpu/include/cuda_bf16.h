// bfloat16: __nv_bfloat16, __nv_bfloat162 and their functions.
#pragma once
#define __CUDA_BF16_H__
#include "cuda_fp16.h"

struct __nv_bfloat16_raw {
    unsigned short x;
};
struct __nv_bfloat162_raw {
    unsigned short x, y;
};

#define T __nv_bfloat16
#define T2 __nv_bfloat162
#define RAW __nv_bfloat16_raw
#define FORMAT kfcpu::bfloat_format
#define N(a, b) a##bfloat16##b
#define N2(a, b) a##bfloat162##b
#define NARROW narrow_bfloat
#define NARROW_MODE narrow_bfloat_mode
#include "kfcpu/small_float.inc"

static inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a)
{
    return __nv_bfloat162(a, a);
}

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
