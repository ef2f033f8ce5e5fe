// Leaves with status 0 and a claim.
// rule: E1
// expect: crash runner.exited
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    printf("{\"status\": \"correct\", \"speedup\": 1000}\\n");
    fflush(stdout);
    _exit(0);
}
