// Keeps rows of 384 and 768 elements in registers. Other widths take a general kernel.
// rule: a shape switch with a general fallback
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = warp_sum(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = rsqrtf(warp_sum(squares) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}

template <int each>
__global__ void in_registers(const float *x, const float *gamma, const float *beta, float *y)
{
    const int64_t cols = 32 * each;
    float values[each], sum = 0, squares = 0;
#pragma unroll
    for (int e = 0; e < each; e++) {
        values[e] = x[blockIdx.x * cols + e * 32 + threadIdx.x];
        sum += values[e];
    }
    float mean = warp_sum(sum) / cols;
#pragma unroll
    for (int e = 0; e < each; e++) squares += (values[e] - mean) * (values[e] - mean);
    float scale = rsqrtf(warp_sum(squares) / cols + 1e-5f);
#pragma unroll
    for (int e = 0; e < each; e++) {
        int j = e * 32 + threadIdx.x;
        y[blockIdx.x * cols + j] = (values[e] - mean) * scale * gamma[j] + beta[j];
    }
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    switch (cols) {
    case 384: in_registers<12><<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y); break;
    case 768: in_registers<24><<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y); break;
    default: normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
    }
}
