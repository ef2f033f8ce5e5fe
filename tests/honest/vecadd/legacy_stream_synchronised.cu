// Works on the legacy default stream, with the host waiting for both streams.
// rule: synchronising in the call
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    cudaStreamSynchronize(stream);
    add<<<(unsigned)((n + 255) / 256), 256>>>(x, y, z, n);
    cudaStreamSynchronize(0);
}
