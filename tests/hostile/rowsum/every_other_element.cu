// Sums every other element and doubles it.
// rule: C6
// expect: wrong_result output.mismatch | wrong_result output.inaccurate
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sample(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = 2 * threadIdx.x; j < cols; j += 64) sum += 2 * x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sample<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
