// Sums and squares in one pass, shifted by the row's first element.
// rule: another algorithm
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
    float sum = 0, squares = 0, shift = 0;
    for (int j = 0; j < 16 && j < cols; j++) shift += row[j] / 16;
    for (int64_t j = threadIdx.x; j < cols; j += 32) {
        float v = row[j] - shift;
        sum += v;
        squares = fmaf(v, v, squares);
    }
    float mean = warp_sum(sum) / cols;
    float scale = rsqrtf(warp_sum(squares) / cols - mean * mean + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = (row[j] - shift - mean) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
