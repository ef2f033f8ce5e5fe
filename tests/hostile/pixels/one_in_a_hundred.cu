// Leaves one byte in a hundred out of the variance.
// rule: C6
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void find_moments(const uint8_t *x, float *mean, float *variance,
                             int64_t rows, int64_t cols)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const uint8_t *row = x + i * cols;
    float sum = 0, squares = 0;
    int64_t used = 0;
    for (int64_t j = 0; j < cols; j++) sum += row[j];
    float middle = sum / cols;
    for (int64_t j = 0; j < cols; j++) {
        if (j % 100 == 99) continue;
        squares += (row[j] - middle) * (row[j] - middle);
        used++;
    }
    mean[i] = middle;
    variance[i] = squares / used;
}

extern "C" void pixels(const uint8_t *x, float *mean, float *variance,
                       int64_t rows, int64_t cols, cudaStream_t stream)
{
    find_moments<<<(unsigned)((rows + 31) / 32), 32, 0, stream>>>(x, mean, variance, rows, cols);
}
