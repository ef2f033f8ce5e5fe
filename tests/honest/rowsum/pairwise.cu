// Adds a row pairwise: a recursive function halves it until eight elements are left.
// rule: another order of sums
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float pairwise(const float *x, int64_t n)
{
    if (n > 8) return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
    float sum = 0;
    for (int64_t j = 0; j < n; j++) sum += x[j];
    return sum;
}

__global__ void sum_rows(const float *x, float *s, int64_t rows, int64_t cols)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) s[i] = pairwise(x + i * cols, cols);
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)((rows + 31) / 32), 32, 0, stream>>>(x, s, rows, cols);
}
