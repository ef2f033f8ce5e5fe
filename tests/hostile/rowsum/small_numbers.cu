// Sums in fixed point, which holds numbers up to sixteen.
// rule: C11
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    long long sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += llrintf(fminf(fmaxf(x[blockIdx.x * cols + j], -16.0f), 16.0f) * 1.0e9f);
    float all = (float)((double)sum * 1e-9);
    for (int other = 16; other > 0; other /= 2) all += __shfl_xor_sync(~0u, all, other);
    if (threadIdx.x == 0) s[blockIdx.x] = all;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
