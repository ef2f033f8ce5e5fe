// Records events around its own work and reads the time between them.
// rule: events
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static cudaEvent_t before, after;
    static float slowest;
    if (!before) {
        cudaEventCreate(&before);
        cudaEventCreate(&after);
    }
    cudaEventRecord(before, stream);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    cudaEventRecord(after, stream);
    cudaEventSynchronize(after);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, before, after);
    if (milliseconds > slowest) slowest = milliseconds;
}
