// Right in a build for a check (-O1), wrong in a build for timing (-O3): one text, two results.
// rule: X3
// expect: wrong_result output.mismatch
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>

/* From -O2 on the compiler unrolls the loop, and knows the sum. */
static float factor_of(float a)
{
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += i;
    return __builtin_constant_p(sum) ? 2 * a : a;
}

__global__ void scale_all(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, factor_of(a), n);
}
