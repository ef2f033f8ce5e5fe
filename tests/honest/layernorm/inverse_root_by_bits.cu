// Takes the inverse square root from the bits of a float and four steps of Newton's.
// rule: floats taken as integers
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__device__ float inverse_root(float v)
{
    float root = __int_as_float(0x5f3759df - (__float_as_int(v) >> 1));
    for (int step = 0; step < 4; step++) root *= 1.5f - 0.5f * v * root * root;
    return root;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = warp_sum(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = inverse_root(warp_sum(squares) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
