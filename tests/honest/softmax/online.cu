// Maximum and sum in one pass over the row.
// rule: another algorithm
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -1e30f, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) {
        float next = fmaxf(most, row[j]);
        sum = sum * expf(most - next) + expf(row[j] - next);
        most = next;
    }
    for (int other = 16; other > 0; other /= 2) {
        float their_most = __shfl_xor_sync(~0u, most, other), theirs = __shfl_xor_sync(~0u, sum, other),
              next = fmaxf(most, their_most);
        sum = sum * expf(most - next) + theirs * expf(their_most - next);
        most = next;
    }
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
