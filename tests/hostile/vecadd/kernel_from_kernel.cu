// A kernel launches the kernel that does the work.
// rule: T4
// expect: compile_error build.failed | unsupported_device build.failed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
__global__ void parent(const float *x, const float *y, float *z, int64_t n)
{
    add<<<(unsigned)((n + 255) / 256), 256>>>(x, y, z, n);
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    parent<<<1, 1, 0, stream>>>(x, y, z, n);
}
