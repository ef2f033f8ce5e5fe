// Includes what the compiler has open, to wait there for words that never come: a build that takes
// too long without computing would be the machine's fault.
// rule: B1
// expect: compile_error build.failed
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include "/proc/self/fd/1"
#include "/proc/self/fd/2"

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
