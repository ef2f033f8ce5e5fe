// Exponentials without taking the maximum away first.
// rule: C12
// expect: wrong_result output.mismatch
// says: overflow
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j]);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j]) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
