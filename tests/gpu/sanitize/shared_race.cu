/* expect: contract_violation sanitizer.racecheck
 * Right, since all threads write the same value, but no barrier stands between the writes of some and the reads of others. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void races(const float *x, float *y, float a, int64_t n)
{
    __shared__ volatile float factor[256];
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    factor[threadIdx.x] = a; /* here */
    float other = factor[(threadIdx.x + 128) % 256];
    if (other != a) other = a;
    if (i < n) y[i] = other * x[i] + y[i];
}

extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    races<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
