// Mean and variance in one pass, by Welford's update and Chan's merge.
// rule: another algorithm
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float mean = 0, squares = 0, count = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) {
        count += 1;
        float delta = row[j] - mean;
        mean += delta / count;
        squares += delta * (row[j] - mean);
    }
    for (int other = 16; other > 0; other /= 2) {
        float their_mean = __shfl_xor_sync(~0u, mean, other), their_squares = __shfl_xor_sync(~0u, squares, other);
        float theirs = __shfl_xor_sync(~0u, count, other), all = count + theirs;
        if (all == 0) continue;
        float delta = their_mean - mean;
        squares += their_squares + delta * delta * count * theirs / all;
        mean = (mean * count + their_mean * theirs) / all;
        count = all;
    }
    float scale = rsqrtf(squares / cols + 1e-5f);
    mean = __shfl_sync(~0u, mean, 0), scale = __shfl_sync(~0u, scale, 0);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
