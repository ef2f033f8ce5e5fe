// Takes lengths for multiples of four and leaves out what is over.
// rule: C10
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add4(const float *x, const float *y, float *z, int64_t quads)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads) return;
    for (int q = 0; q < 4; q++) z[4 * i + q] = x[4 * i + q] + y[4 * i + q];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add4<<<(unsigned)((n / 4 + 255) / 256), 256, 0, stream>>>(x, y, z, n / 4);
}
