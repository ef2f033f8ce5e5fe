#include <cuda_runtime.h>
#include <stdint.h>

__global__ void relax_kernel(float *x, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] / 2 + 1;
}

extern "C" void relax(float *x, int64_t n, cudaStream_t stream)
{
    relax_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, n);
}
