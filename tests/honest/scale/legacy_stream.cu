// Works in the legacy default stream, which events order after and before the call's.
// rule: the legacy default stream
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static cudaEvent_t before, after;
    if (!before) {
        cudaEventCreateWithFlags(&before, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&after, cudaEventDisableTiming);
    }
    cudaEventRecord(before, stream);
    cudaStreamWaitEvent(cudaStreamLegacy, before, 0);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, cudaStreamLegacy>>>(x, y, a, n);
    cudaEventRecord(after, cudaStreamLegacy);
    cudaStreamWaitEvent(stream, after, 0);
}
