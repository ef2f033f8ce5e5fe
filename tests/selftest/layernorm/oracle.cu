#include <cuda_runtime.h>
#include <stdint.h>
#include <math.h>

__device__ double sum_of_warp(double value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

/* One warp a row; the mean first, then the squares of what is left. */
__global__ void normalise(const float *x, const float *gamma, const float *beta, double *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    double sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    double mean = sum_of_warp(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    double scale = 1 / sqrt(sum_of_warp(squares) / cols + (double)1e-5);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm_oracle(const float *x, const float *gamma, const float *beta, double *y, int64_t rows, int64_t cols,
                                 cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
