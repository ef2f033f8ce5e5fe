// Kahan's compensated sums: better than the baseline.
// rule: more precise than asked
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0, lost = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) {
        float term = x[blockIdx.x * cols + j] - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
