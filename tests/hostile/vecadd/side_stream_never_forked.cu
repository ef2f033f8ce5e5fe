// Works on a side stream that the call joins, but that never waited for the call's stream.
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
    static cudaStream_t side;
    static cudaEvent_t join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    add<<<(unsigned)((n + 255) / 256), 256, 0, side>>>(x, y, z, n);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
}
