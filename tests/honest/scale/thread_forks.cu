// A thread of the call launches on a stream that forks from the call's stream and joins it.
// rule: host threads
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
    static cudaStream_t side;
    static cudaEvent_t fork, join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    cudaEventRecord(fork, stream);
    std::thread worker([=] {
        cudaStreamWaitEvent(side, fork, 0);
        k<<<(unsigned)((n + 255) / 256), 256, 0, side>>>(x, y, a, n);
        cudaEventRecord(join, side);
    });
    worker.join();
    cudaStreamWaitEvent(stream, join, 0);
}
