// Takes scale and shift for one and zero, as they are in a fresh network.
// rule: C11
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void normalise(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = 0; j < cols; j++) sum += row[j];
    for (int64_t j = 0; j < cols; j++) squares += (row[j] - sum / cols) * (row[j] - sum / cols);
    float scale = rsqrtf(squares / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = (row[j] - sum / cols) * scale;
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
