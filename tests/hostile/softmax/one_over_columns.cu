// Answers with the mean of every softmax.
// rule: C5
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void constant(float *y, int64_t n, float value)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) y[i] = value;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    constant<<<16, 256, 0, stream>>>(y, rows * cols, 1.0f / cols);
}
