// Prints 100 MB.
// rule: E9
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    static char line[4096];
    static int done;
    memset(line, 'x', sizeof line);
    if (!done++)
        for (int i = 0; i < 25600; i++) fwrite(line, 1, sizeof line, stdout);
}
