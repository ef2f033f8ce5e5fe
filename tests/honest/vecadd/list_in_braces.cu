// Loops over a list in braces, as nvcc takes it without any header of C++.
// rule: initializer lists
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
    for (int j : {0, 1, 2, 3})
        if (i + j < n) z[i + j] = x[i + j] + y[i + j];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + 1023) / 1024), 256, 0, stream>>>(x, y, z, n);
}
