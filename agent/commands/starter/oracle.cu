/* The truth, in float64: the candidate's signature, but floating outputs are double. Plain code; speed does not matter much. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void @ENTRY@_exact(const float *x, double *y, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (double)x[i] / (1.0 + exp(-(double)x[i]));
}

extern "C" void @ENTRY@_oracle(const float *x, double *y, int64_t n, cudaStream_t stream)
{
    @ENTRY@_exact<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}
