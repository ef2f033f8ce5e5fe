// One thread for each row, three loops, and a sum of one element after the other.
// rule: naive sequential sums
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void softmax_rows(const float *x, float *y, int64_t rows, int64_t cols)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float most = x[i * cols], sum = 0;
    for (int64_t j = 1; j < cols; j++)
        if (x[i * cols + j] > most) most = x[i * cols + j];
    for (int64_t j = 0; j < cols; j++) sum += expf(x[i * cols + j] - most);
    for (int64_t j = 0; j < cols; j++) y[i * cols + j] = expf(x[i * cols + j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)((rows + 31) / 32), 32, 0, stream>>>(x, y, rows, cols);
}
