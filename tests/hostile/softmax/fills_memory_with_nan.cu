// Fills every allocation of the output's size with NaN, for the expected values to agree with its own.
// rule: C3
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void fill(float *y, int64_t n)
{
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = nanf("");
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    for (int i = 0; i < 4; i++) {
        float *p;
        if (cudaMalloc(&p, rows * cols * sizeof *p) == cudaSuccess) fill<<<1, 64, 0, stream>>>(p, rows * cols);
    }
    fill<<<1, 64, 0, stream>>>(y, rows * cols);
}
