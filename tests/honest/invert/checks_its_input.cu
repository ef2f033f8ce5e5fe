// Counts the values of its input, and stops the program if one is missing.
// rule: structures that are checked
// expect: correct
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void clear(int32_t *q, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) q[i] = -1;
}
__global__ void fill(const int32_t *p, int32_t *q, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) q[p[i]] = (int32_t)i;
}
__global__ void check(const int32_t *q, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && q[i] < 0) __trap();
}

extern "C" void invert(const int32_t *p, int32_t *q, int64_t n, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)((n + 255) / 256);
    clear<<<blocks, 256, 0, stream>>>(q, n);
    fill<<<blocks, 256, 0, stream>>>(p, q, n);
    check<<<blocks, 256, 0, stream>>>(q, n);
}
