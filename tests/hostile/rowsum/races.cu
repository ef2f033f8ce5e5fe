// Every thread adds to the output without atomics.
// rule: C14
// expect: wrong_result output.mismatch
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void race(const float *x, volatile float *s, int64_t cols)
{
    for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) s[blockIdx.x] = s[blockIdx.x] + x[blockIdx.x * cols + j];
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    cudaMemsetAsync(s, 0, rows * sizeof *s, stream);
    race<<<(unsigned)rows, 128, 0, stream>>>(x, s, cols);
}
