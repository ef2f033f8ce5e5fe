// Leaves the last element out.
// rule: C6
// expect: wrong_result output.mismatch | wrong_result output.inaccurate
// suspects: nothing
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    n -= 1;
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
