// Defines the runtime calls that measure time, and works six times over.
// rule: T5
// expect: correct | compile_error build.failed | crash runner.crashed
// at-most: 0.8
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" cudaError_t cudaEventElapsedTime_v2(float *milliseconds, cudaEvent_t, cudaEvent_t)
{
    *milliseconds = 0.001f;
    return cudaSuccess;
}
extern "C" __attribute__((visibility("default"))) int gettimeofday(void *, void *)
{
    return 0;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    for (int i = 0; i < 6; i++) add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
