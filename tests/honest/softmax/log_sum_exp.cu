// Takes the logarithm of the sum, and then one exponential for each element.
// rule: another algorithm
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
    float logarithm = logf(warp_sum(sum));
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = expf(row[j] - most - logarithm);
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
