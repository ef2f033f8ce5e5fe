// Each call rests for a tenth of a second: many of them take longer than one may.
// rule: slow calls
// expect: correct
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>
#include <time.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    const timespec rest = {0, 100000000};
    nanosleep(&rest, nullptr);
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
