// Allocates and frees in the stream's order.
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    float *workspace;
    cudaMallocAsync((void **)&workspace, n * sizeof(float), stream);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, workspace, a, n);
    cudaMemcpyAsync(y, workspace, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    cudaFreeAsync(workspace, stream);
}
