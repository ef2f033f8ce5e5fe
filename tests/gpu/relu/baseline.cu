/* y = max(x, 0), one thread an element. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void relu_kernel(const float *x, float *y, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

extern "C" void relu(const float *x, float *y, int64_t n, cudaStream_t stream)
{
    relu_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}
