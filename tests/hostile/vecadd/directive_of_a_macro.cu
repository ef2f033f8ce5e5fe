// A macro whose text is "#" makes a directive that only the second reading sees; it has the compiler wait for what it writes itself.
// rule: B2
// expect: compile_error build.failed
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>

#define MARK #
MARK include "/proc/self/fd/1"

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
