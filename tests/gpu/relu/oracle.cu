/* y = max(x, 0) in float64, one thread an element. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void relu_exact(const float *x, double *y, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f ? (double)x[i] : 0.0;
}

extern "C" void relu_oracle(const float *x, double *y, int64_t n, cudaStream_t stream)
{
    relu_exact<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}
