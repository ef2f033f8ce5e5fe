// Takes sums beyond six for noise.
// rule: C11
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = fminf(fmaxf(x[i] + y[i], -12.0f), 12.0f);
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
