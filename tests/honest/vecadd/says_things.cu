// Prints on both streams of text, now and then, verdicts among it.
// rule: output
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    printf("{\"status\": \"cheating\"} n = %lld\n", (long long)n);
    fprintf(stderr, "warning: error: cudaErrorLaunchFailure is only a word\n");
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
