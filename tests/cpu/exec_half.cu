// half and bfloat16: conversions in all modes, arithmetic rounded once, comparisons, pairs, shuffles, atomics.
#include "exec_check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <string.h>

// The nearest number of a format with `precision` bits, by way of scaling; ties to even.
static double nearest(double x, int precision, int least, double largest)
{
    if (x == 0 || x - x != 0) return x;
    int exponent = ilogb(x);
    double unit = ldexp(1.0, (exponent < least ? least : exponent) - precision + 1), r = nearbyint(x / unit) * unit;
    return fabs(r) > largest ? (x > 0 ? INFINITY : -INFINITY) : r;
}
static double round_half(double x)
{
    return nearest(x, 11, -14, 65504);
}
static double round_brain(double x)
{
    return nearest(x, 8, -126, 3.3895313892515355e38);
}

template <class T> __global__ void arithmetic(const T *x, T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T a = x[i], b = x[(i * 7 + 1) % n], c = x[(i * 3 + 2) % n], *mine = out + 10 * i;
    mine[0] = a + b;
    mine[1] = __hsub(a, b);
    mine[2] = a * b;
    mine[3] = a / b;
    mine[4] = __hfma(a, b, c);
    mine[5] = -a;
    mine[6] = __hmax(a, b);
    mine[7] = hsqrt(__habs(a));
    mine[8] = a < b ? __habs(a) : a;
    mine[9] = __shfl_xor_sync(0xffffffffu, a, 1);
}
__global__ void pairs(const __half2 *x, __half2 *out, __half2 *sum, __half *one, __nv_bfloat162 *brain)
{
    int i = threadIdx.x;
    __half2 a = x[i], *mine = out + 4 * i;
    mine[0] = __hadd2(a, __float2half2_rn(1.0f));
    mine[1] = __hfma2(a, a, __halves2half2(__high2half(a), __low2half(a)));
    mine[2] = __lowhigh2highlow(a);
    mine[3] = __floats2half2_rn(__half22float2(a).x * 2, __high2float(a));
    atomicAdd(sum, __half2half2(__float2half(1.0f)));
    atomicAdd(one, __float2half(0.5f));
    atomicAdd(brain, __float2bfloat162_rn(1.0f));
    __half2 shuffled = __shfl_down_sync(0xffffffffu, a, 1);
    if (i < 31 && !__hbeq2(shuffled, x[i + 1])) mine[2] = a;
}
__global__ void integers(__half *ok)
{
    *ok = __float2half(__half2int_rz(__float2half(-2.7f)) == -2 && __half2int_rn(__float2half(2.5f)) == 2 &&
                       __half2float(__int2half_rn(2049)) == 2048 && __half2float(__int2half_ru(2049)) == 2050);
}
template <class T> void check_arithmetic(double (*round)(double), T (*from)(float))
{
    int n = 9600;
    T *x = memory<T>(n), *out = memory<T>(10 * n);
    unsigned state = 7;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = from((i % 3 ? 1.0f : -1.0f) * ldexpf(1 + (state >> 9) * 0x1p-23f, (int)(state >> 3) % 14 - 7));
    }
    arithmetic<<<n / 96, 96>>>(x, out, n);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) {
        double a = (float)x[i], b = (float)x[(i * 7 + 1) % n], c = (float)x[(i * 3 + 2) % n];
        T *mine = out + 10 * i;
        CHECK((float)mine[0] == round(a + b) && (float)mine[1] == round(a - b) && (float)mine[2] == round(a * b));
        CHECK((float)mine[3] == round(a / b) && (float)mine[4] == round(a * b + c) && (float)mine[5] == -a);
        CHECK((float)mine[6] == (a > b ? a : b) && (float)mine[7] == round(sqrt(fabs(a))) &&
              (float)mine[8] == (a < b ? fabs(a) : a));
        CHECK((float)mine[9] == (float)x[i ^ 1]);
    }
}
static __half half_from(float f)
{
    return __float2half(f);
}
static __nv_bfloat16 brain_from(float f)
{
    return __float2bfloat16(f);
}

int main()
{
    for (unsigned bits = 0; bits < 65536; bits++) { // every half survives the way to float and back
        float f = __half2float(__ushort_as_half((unsigned short)bits));
        if (f == f)
            CHECK(__half_as_ushort(__float2half(f)) == bits);
        else
            CHECK(__hisnan(__float2half(f)));
        float g = __bfloat162float(__ushort_as_bfloat16((unsigned short)bits));
        if (g == g) CHECK(__bfloat16_as_ushort(__float2bfloat16(g)) == bits);
    }
    for (unsigned i = 0; i < 2000000; i++) {
        unsigned bits = i * 2147u;
        float f;
        memcpy(&f, &bits, 4);
        if (f != f) continue;
        double h = round_half(f), down = __half2float(__float2half_rd(f)), up = __half2float(__float2half_ru(f)),
               zero = __half2float(__float2half_rz(f));
        CHECK(__half2float(__float2half(f)) == h);
        CHECK(down <= f && up >= f && fabs(zero) <= fabs((double)f) && (h == down || h == up) && (zero == down || zero == up));
        CHECK(__bfloat162float(__float2bfloat16(f)) == round_brain(f));
    }
    CHECK(__half2float(__double2half(1 + ldexp(1, -11) + ldexp(1, -40))) ==
          1 + ldexp(1, -10)); // once through float it would be a tie
    check_arithmetic<__half>(round_half, half_from);
    check_arithmetic<__nv_bfloat16>(round_brain, brain_from);
    __half2 *x = memory<__half2>(32), *out = memory<__half2>(128), *sum = memory<__half2>(1);
    __half *one = memory<__half>(1);
    __nv_bfloat162 *b = memory<__nv_bfloat162>(1);
    for (int i = 0; i < 32; i++) x[i] = __floats2half2_rn(i + 0.25f, -i);
    pairs<<<1, 32>>>(x, out, sum, one, b);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) {
        CHECK(__low2float(out[4 * i]) == i + 1.25f && __high2float(out[4 * i]) == 1 - i);
        CHECK(__low2float(out[4 * i + 1]) == round_half((i + 0.25) * (i + 0.25) - i) &&
              __high2float(out[4 * i + 1]) == round_half(i * i + i + 0.25));
        CHECK(__low2float(out[4 * i + 2]) == -i && __high2float(out[4 * i + 2]) == i + 0.25f);
        CHECK(__low2float(out[4 * i + 3]) == 2 * i + 0.5f && __high2float(out[4 * i + 3]) == -i);
    }
    CHECK(__low2float(*sum) == 32 && __high2float(*sum) == 32 && __half2float(*one) == 16 && __low2float(*b) == 32);
    integers<<<1, 1>>>(one);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(__half2float(*one) == 1);
    return result();
}
