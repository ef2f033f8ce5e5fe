// Adds to the output without clearing it, trusting that memory is zero.
// rule: C1
// expect: wrong_result output.mismatch
// says-cpu: Set the output to 0 before
// suspects: nothing
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 64) sum += x[blockIdx.x * cols + j];
    atomicAdd(&s[blockIdx.x], sum);
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    add_rows<<<(unsigned)rows, 64, 0, stream>>>(x, s, cols);
}
