// Sums a whole row one element after the other: worse than the baseline, and still f32.
// rule: another order of sums
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t rows, int64_t cols)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int64_t j = 0; j < cols; j++) sum += x[i * cols + j];
    s[i] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)((rows + 31) / 32), 32, 0, stream>>>(x, s, rows, cols);
}
