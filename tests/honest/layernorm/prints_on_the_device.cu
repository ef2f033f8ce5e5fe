// Leaves a line for debugging in the kernel, which prints for narrow rows.
// rule: printf left in
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

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
    if (cols < 300 && blockIdx.x == 0 && threadIdx.x == 0)
        printf("mean %g scale %g\n", mean, scale);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
