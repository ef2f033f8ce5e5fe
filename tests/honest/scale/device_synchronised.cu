// Waits for the whole device before and after its work on the per-thread default stream.
// rule: synchronising in the call
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    (void)stream;
    cudaDeviceSynchronize();
    k<<<(unsigned)((n + 255) / 256), 256, 0, cudaStreamPerThread>>>(x, y, a, n);
    cudaDeviceSynchronize();
}
