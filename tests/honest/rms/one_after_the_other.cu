// One thread a row adds its squares one after the other, in place of a tree.
// rule: sums in sequence over an inout
// expect: correct
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void divide(float *x, int64_t rows, int64_t cols)
{
    if (threadIdx.x >= rows) return;
    float *row = x + threadIdx.x * cols, sum = 0;
    for (int64_t i = 0; i < cols; i++) sum += row[i] * row[i];
    const float factor = 1 / sqrtf(sum / (float)cols);
    for (int64_t i = 0; i < cols; i++) row[i] *= factor;
}

extern "C" void rms(float *x, int64_t rows, int64_t cols, cudaStream_t stream)
{
    divide<<<1, 32, 0, stream>>>(x, rows, cols);
}
