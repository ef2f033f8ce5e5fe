// Complex numbers in CUDA's C interface.
#pragma once
#define CU_COMPLEX_H_
#include <math.h>
#include "vector_types.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
static inline cuFloatComplex make_cuFloatComplex(float a, float b)
{
    return {a, b};
}
static inline cuDoubleComplex make_cuDoubleComplex(double a, double b)
{
    return {a, b};
}
static inline cuComplex make_cuComplex(float a, float b)
{
    return {a, b};
}
// The division scales its operands so that the squares do not overflow.
#define KFCPU_COMPLEX(f, type, real, hypotenuse)                                            \
    static inline real cuCreal##f(type a)                                                   \
    {                                                                                       \
        return a.x;                                                                         \
    }                                                                                       \
    static inline real cuCimag##f(type a)                                                   \
    {                                                                                       \
        return a.y;                                                                         \
    }                                                                                       \
    static inline real cuCabs##f(type a)                                                    \
    {                                                                                       \
        return hypotenuse(a.x, a.y);                                                        \
    }                                                                                       \
    static inline type cuConj##f(type a)                                                    \
    {                                                                                       \
        return {a.x, -a.y};                                                                 \
    }                                                                                       \
    static inline type cuCadd##f(type a, type b)                                            \
    {                                                                                       \
        return {a.x + b.x, a.y + b.y};                                                      \
    }                                                                                       \
    static inline type cuCsub##f(type a, type b)                                            \
    {                                                                                       \
        return {a.x - b.x, a.y - b.y};                                                      \
    }                                                                                       \
    static inline type cuCmul##f(type a, type b)                                            \
    {                                                                                       \
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                              \
    }                                                                                       \
    static inline type cuCfma##f(type a, type b, type c)                                    \
    {                                                                                       \
        return cuCadd##f(cuCmul##f(a, b), c);                                               \
    }                                                                                       \
    static inline type cuCdiv##f(type a, type b)                                            \
    {                                                                                       \
        real s = (b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y);                           \
        real ax = a.x / s, ay = a.y / s, bx = b.x / s, by = b.y / s, n = bx * bx + by * by; \
        return {(ax * bx + ay * by) / n, (ay * bx - ax * by) / n};                          \
    }
KFCPU_COMPLEX(f, cuFloatComplex, float, hypotf)
KFCPU_COMPLEX(, cuDoubleComplex, double, hypot)
#undef KFCPU_COMPLEX
