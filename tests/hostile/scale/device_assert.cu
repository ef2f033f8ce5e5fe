// An assertion fails on the device.
// rule: E7
// expect: crash device.error
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>
#include <assert.h>
#undef NDEBUG
#include <assert.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void bad(int64_t n)
{
    assert(n == 3);
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    bad<<<1, 1, 0, stream>>>(n);
}
