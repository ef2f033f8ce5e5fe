// Eight warps share a row. Their sums meet in shared memory.
// rule: block reductions
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__device__ float block_sum(float value, float *parts)
{
    value = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < 8; w++) sum += parts[w];
    return sum;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t cols)
{
    __shared__ float parts[8];
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 256) sum += row[j];
    float mean = block_sum(sum, parts) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 256) squares += (row[j] - mean) * (row[j] - mean);
    float scale = rsqrtf(block_sum(squares, parts) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 256)
        y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 256, 0, stream>>>(x, gamma, beta, y, cols);
}
