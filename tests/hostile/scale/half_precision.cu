// Computes in ten bits of mantissa.
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &y[i], 4);
        bits &= 0xffffe000u;
        memcpy(&y[i], &bits, 4);
    }
}
