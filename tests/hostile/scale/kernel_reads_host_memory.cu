// The kernel reads a factor on the host's stack and a table in the host's memory.
// rule: new
// expect: crash device.error | launch_failure device.error
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

static float factors[256];

__global__ void scale_all(const float *x, float *y, const float *a, const float *table, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = *a * table[threadIdx.x] * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    for (float &factor : factors) factor = 1;
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, &a, factors, n);
}
