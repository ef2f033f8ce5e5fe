// Zeroes its input behind its back, so that a reference computed later would agree.
// rule: C4
// expect: contract_violation input.mutated
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

__global__ void mutate(float *x, int64_t i)
{
    x[i] = 0.0f;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    mutate<<<1, 1, 0, stream>>>(const_cast<float *>(x), n / 2);
}
