// Changes the sign of one zero, or the last bit of one element, of its input; the result stays right.
// rule: C4
// expect: contract_violation input.mutated
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
__global__ void touch(uint32_t *x)
{
    x[7] ^= 1;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    touch<<<1, 1, 0, stream>>>((uint32_t *)y);
}
