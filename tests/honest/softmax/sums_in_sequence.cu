// Adds a row in sequence, as a textbook does. The error is that of any long f32 sum.
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < cols; j++) most = fmaxf(most, row[j]);
    for (int64_t j = 0; j < cols; j++) sum += expf(row[j] - most);
    for (int64_t j = 0; j < cols; j++) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)rows, 1, 0, stream>>>(x, y, cols);
}
