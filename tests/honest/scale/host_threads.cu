// Host threads that are joined in the call.
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <thread>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    int64_t half = n / 2;
    std::thread helper([=] { k<<<(unsigned)((n - half + 255) / 256), 256, 0, stream>>>(x + half, y + half, a, n - half); });
    k<<<(unsigned)((half + 255) / 256), 256, 0, stream>>>(x, y, a, half);
    helper.join();
}
