// Host functions and callbacks in stream order: the driver makes a thread for them.
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
static void nothing(void *) {}
static void called(cudaStream_t, cudaError_t, void *) {}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    cudaLaunchHostFunc(stream, nothing, nullptr);
    cudaStreamAddCallback(stream, called, nullptr, 0);
}
