// Sums in f16.
// rule: C8
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    __half sum = __float2half(0.0f);
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum = __float2half(__half2float(sum) + x[blockIdx.x * cols + j]);
    float all = __half2float(sum);
    for (int other = 16; other > 0; other /= 2) all += __shfl_xor_sync(~0u, all, other);
    if (threadIdx.x == 0) s[blockIdx.x] = all;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
