// Has the compiler wait for what it says itself: no processor time, and no end.
// rule: B2
// expect: compile_error build.failed
#include <cuda_runtime.h>
#include <stdint.h>

#include "/proc/self/fd/1"

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
