// Mean and mean square in one pass, in float64.
// rule: another algorithm
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    double sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j], squares += (double)row[j] * row[j];
    for (int other = 16; other > 0; other /= 2) {
        sum += __shfl_xor_sync(~0u, sum, other);
        squares += __shfl_xor_sync(~0u, squares, other);
    }
    double mean = sum / cols, scale = 1 / sqrt(squares / cols - mean * mean + 1e-5);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = (float)((row[j] - mean) * scale) * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
