// 64 KiB of static shared memory: ptxas refuses more than 48 KiB.
// rule: new
// expect: launch_failure device.error | compile_error build.failed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void scale_all(const float *x, float *y, float a, int64_t n)
{
    __shared__ float many[16384];
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    many[threadIdx.x * 64] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = a * many[threadIdx.x * 64];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
