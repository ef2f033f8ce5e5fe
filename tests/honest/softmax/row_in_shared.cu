// Keeps a row in up to 96 KiB of shared memory. Longer rows take another kernel.
// rule: large shared memory
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

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    most = warp_max(most);
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    sum = warp_sum(sum);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}

__global__ void softmax_in_shared(const float *x, float *y, int64_t cols)
{
    extern __shared__ float row[];
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) {
        row[j] = x[blockIdx.x * cols + j];
        most = fmaxf(most, row[j]);
    }
    most = warp_max(most);
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j] = expf(row[j] - most);
    sum = 1 / warp_sum(sum);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = row[j] * sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    const int most = 96 << 10;
    static cudaError_t allowed =
        cudaFuncSetAttribute(softmax_in_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    if (allowed == cudaSuccess && cols * 4 <= most)
        softmax_in_shared<<<(unsigned)rows, 32, cols * 4, stream>>>(x, y, cols);
    else
        softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
