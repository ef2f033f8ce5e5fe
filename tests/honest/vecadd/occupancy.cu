// Chooses its grid by the occupancy calculator and keeps the answer.
// rule: cached function attributes
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static int grid, block;
    if (!grid) cudaOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 256);
    add<<<grid, block, 0, stream>>>(x, y, z, n);
}
