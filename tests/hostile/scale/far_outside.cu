// Runs far off the end of a buffer.
// rule: C13
// expect: crash device.error | contract_violation guard.broken | cheating unchosen.written
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void bad(float *y, int64_t n)
{
    for (int64_t i = n; i < n + ((int64_t)1 << 24); i += 1024) y[i] = 0;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    bad<<<1, 1, 0, stream>>>(y, n);
}
