// A cooperative launch with a barrier over the grid, printing now and then.
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>
#include <cooperative_groups.h>
#include <stdio.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void twice(const float *x, float *y, float a, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) y[i] = x[i];
    cooperative_groups::this_grid().sync();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) y[i] *= a;
    if (blockIdx.x == 0 && threadIdx.x == 0 && n == 1003) printf("hello\n");
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    void *arguments[] = {&x, &y, &a, &n};
    cudaLaunchCooperativeKernel((const void *)twice, dim3(64), dim3(256), arguments, 0, stream);
}
