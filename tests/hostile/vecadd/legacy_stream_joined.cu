// Works on the legacy default stream, which does not wait for a non-blocking stream, and joins it.
// rule: T1
// expect: wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static cudaEvent_t join;
    if (!join) cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    add<<<(unsigned)((n + 255) / 256), 256>>>(x, y, z, n);
    cudaEventRecord(join, cudaStreamLegacy);
    cudaStreamWaitEvent(stream, join, 0);
}
