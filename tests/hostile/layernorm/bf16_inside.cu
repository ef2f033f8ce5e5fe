// Keeps what it has centred in bf16.
// rule: C8
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
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
__global__ void cut(float *y, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        y[i] = __uint_as_float(__float_as_uint(y[i]) & 0xffff0000u);
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
    cut<<<16, 256, 0, stream>>>(y, rows * cols);
}
