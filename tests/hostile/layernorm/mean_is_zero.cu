// Takes the mean for zero, as it nearly is.
// rule: C11
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += row[j] * row[j];
    for (int other = 16; other > 0; other /= 2) squares += __shfl_xor_sync(~0u, squares, other);
    float scale = rsqrtf(squares / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = row[j] * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
