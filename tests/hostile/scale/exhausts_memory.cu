// Takes all memory it can get.
// rule: E6
// expect: out_of_memory memory.limit | timeout time.limit
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
    for (;;) {
        char *p = (char *)malloc(64u << 20);
        memset(p, 1, 64u << 20);
    }
    (void)x, (void)y, (void)a, (void)n, (void)stream;
}
