// Respects the stream only if it is busy although the call before has ended.
// rule: T1
// expect: wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    long long start = clock64();
    while (clock64() - start < 100000) {
    }
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static cudaStream_t side;
    static cudaEvent_t fork, join, last;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&last, cudaEventDisableTiming);
    }
    bool held = cudaEventQuery(last) == cudaSuccess && cudaStreamQuery(stream) == cudaErrorNotReady;
    if (held) {
        cudaEventRecord(fork, stream);
        cudaStreamWaitEvent(side, fork, 0);
    }
    add<<<(unsigned)((n + 255) / 256), 256, 0, side>>>(x, y, z, n);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
    cudaEventRecord(last, stream);
}
