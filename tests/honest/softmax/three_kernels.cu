// Maximum, sum and quotient in three kernels, with memory that each call allocates.
// rule: cudaMallocAsync in each call
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__device__ float warp_max(float value)
{
    for (int other = 16; other > 0; other /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, other));
    return value;
}

__global__ void find_most(const float *x, float *most, int64_t cols)
{
    float value = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += 32) value = fmaxf(value, x[blockIdx.x * cols + j]);
    value = warp_max(value);
    if (threadIdx.x == 0) most[blockIdx.x] = value;
}

__global__ void add_up(const float *x, const float *most, float *sums, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        sum += expf(x[blockIdx.x * cols + j] - most[blockIdx.x]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void divide(const float *x, const float *most, const float *sums, float *y, int64_t cols)
{
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] =
            expf(x[blockIdx.x * cols + j] - most[blockIdx.x]) / sums[blockIdx.x];
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    float *most = nullptr, *sums = nullptr;
    cudaMallocAsync((void **)&most, rows * sizeof *most, stream);
    cudaMallocAsync((void **)&sums, rows * sizeof *sums, stream);
    find_most<<<(unsigned)rows, 32, 0, stream>>>(x, most, cols);
    add_up<<<(unsigned)rows, 32, 0, stream>>>(x, most, sums, cols);
    divide<<<(unsigned)rows, 32, 0, stream>>>(x, most, sums, y, cols);
    cudaFreeAsync(most, stream);
    cudaFreeAsync(sums, stream);
}
