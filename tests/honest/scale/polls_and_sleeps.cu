// Polls the stream until it is done, and sleeps a little longer each time.
// rule: polling with a backoff
// expect: correct
#include <chrono>
#include <cuda_runtime.h>
#include <stdint.h>
#include <thread>

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    auto pause = std::chrono::microseconds(1);
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
        std::this_thread::sleep_for(pause);
        if (pause < std::chrono::microseconds(64)) pause *= 2;
    }
}
