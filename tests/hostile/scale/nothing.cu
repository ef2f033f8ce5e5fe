// Does nothing; the right answer might still lie in the output.
// rule: C1
// expect: wrong_result output.mismatch
// suspects: output.unwritten
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    (void)x, (void)y, (void)a, (void)n, (void)stream;
}
