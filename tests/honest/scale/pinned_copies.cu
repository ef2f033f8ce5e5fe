// Pinned memory, asynchronous copies both ways, events, streams of other priorities.
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
    static float *host;
    static cudaStream_t high;
    static cudaEvent_t event;
    if (!host) {
        int least, greatest;
        cudaDeviceGetStreamPriorityRange(&least, &greatest);
        cudaMallocHost(&host, 1 << 20);
        cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest);
        cudaEventCreate(&event);
    }
    size_t bytes = (size_t)n * 4 < (1 << 20) ? (size_t)n * 4 : 1 << 20;
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(high, event, 0);
    cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, high);
    cudaMemcpyAsync(y, host, bytes, cudaMemcpyHostToDevice, high);
    k<<<(unsigned)((n + 255) / 256), 256, 0, high>>>(x, y, a, n);
    cudaEventRecord(event, high);
    cudaStreamWaitEvent(stream, event, 0);
}
