// Works on the legacy default stream and joins nothing.
// rule: T1
// expect: wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    (void)stream;
    k<<<(unsigned)((n + 255) / 256), 256>>>(x, y, a, n);
}
