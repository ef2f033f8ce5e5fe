// Writes one element behind the output.
// rule: C13
// expect: contract_violation guard.broken
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

__global__ void behind(float *y, int64_t n)
{
    y[n] = 1.0f;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    behind<<<1, 1, 0, stream>>>(y, n);
}
