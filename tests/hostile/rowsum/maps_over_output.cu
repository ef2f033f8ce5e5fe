// Maps memory of its own over the output, and works there.
// rule: T13
// expect: wrong_result output.mismatch
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <sys/mman.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    mmap((void *)((uintptr_t)s & ~(uintptr_t)4095), 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
