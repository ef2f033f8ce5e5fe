// A square root that holds for variances near one.
// rule: C12
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = 0; j < cols; j++) sum += row[j];
    for (int64_t j = 0; j < cols; j++) squares += (row[j] - sum / cols) * (row[j] - sum / cols);
    float e = squares / cols + 1e-5f - 1, scale = 1 - e / 2 + 0.375f * e * e - 0.3125f * e * e * e;
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = (row[j] - sum / cols) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
