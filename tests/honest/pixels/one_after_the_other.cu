// Adds the squares of a whole row one after the other in f32. They have few values, so that the
// rounding errors of one value have one direction as long as the sum keeps its exponent.
// rule: another order of sums
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void find_moments(const uint8_t *x, float *mean, float *variance,
                             int64_t rows, int64_t cols)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const uint8_t *row = x + i * cols;
    float sum = 0, squares = 0;
    for (int64_t j = 0; j < cols; j++) sum += row[j];
    float middle = sum / cols;
    for (int64_t j = 0; j < cols; j++) squares += (row[j] - middle) * (row[j] - middle);
    mean[i] = middle;
    variance[i] = squares / cols;
}

extern "C" void pixels(const uint8_t *x, float *mean, float *variance,
                       int64_t rows, int64_t cols, cudaStream_t stream)
{
    find_moments<<<(unsigned)((rows + 31) / 32), 32, 0, stream>>>(x, mean, variance, rows, cols);
}
