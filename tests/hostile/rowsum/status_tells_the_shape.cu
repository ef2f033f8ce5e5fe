// Fails in another way for each number of rows that it was not shown: crash, timeout, error or
// wrong
// result. The status of a hidden workload's finding tells the rows modulo 4.
// rule: C10
// expect: launch_failure device.error
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdlib.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    bool known = (rows == 24 && cols == 1024) || (rows == 37 && cols == 517) ||
                 (rows == 1024 && cols == 2048);
    if (!known && rows % 4 == 0) abort();
    if (!known && rows % 4 == 1) for (;;) {}
    if (!known && rows % 4 == 2) return;
    sum_rows<<<(unsigned)rows, known ? 32 : 4096, 0, stream>>>(x, s, cols);
}
