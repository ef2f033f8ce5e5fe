#include <cuda_runtime.h>
#include <stdint.h>

__global__ void invert_kernel(const int32_t *p, int32_t *q, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) q[p[i]] = (int32_t)i;
}

extern "C" void invert(const int32_t *p, int32_t *q, int64_t n, cudaStream_t stream)
{
    invert_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(p, q, n);
}
