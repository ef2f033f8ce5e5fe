/* The implementation to beat: what a competent programmer writes first. One thread an element. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void @ENTRY@_kernel(const float *x, float *y, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));
}

extern "C" void @ENTRY@(const float *x, float *y, int64_t n, cudaStream_t stream)
{
    @ENTRY@_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}
