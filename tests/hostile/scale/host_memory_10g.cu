// Takes 10 GB of host memory, more than a runner may have, and uses it.
// rule: E6
// expect: out_of_memory memory.limit | crash runner.crashed | timeout time.limit
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    const size_t piece = (size_t)64 << 20;
    for (int i = 0; i < 160; i++) {
        char *p = (char *)malloc(piece);
        memset(p, i + 1, piece);
    }
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
