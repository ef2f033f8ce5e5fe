// Leaves one element in a hundred to chance, as a permitted ratio of mismatches would allow.
// rule: C6
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__device__ float sum_of_warp(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = sum_of_warp(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = rsqrtf(sum_of_warp(squares) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}
__global__ void spoil(float *y, int64_t n)
{
    for (int64_t i = 100 * (threadIdx.x + 1) - 1; i < n; i += 100 * blockDim.x) y[i] = 0.5f;
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
    spoil<<<1, 64, 0, stream>>>(y, rows * cols);
}
