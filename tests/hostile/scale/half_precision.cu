// Computes in ten bits of mantissa.
// rule: C8
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __uint_as_float(__float_as_uint(a * x[i]) & 0xffffe000u);
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
