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
    std::thread helper([=] {
        for (int64_t i = n / 2; i < n; i++) y[i] = a * x[i];
    });
    for (int64_t i = 0; i < n / 2; i++) y[i] = a * x[i];
    helper.join();
    (void)stream;
}
