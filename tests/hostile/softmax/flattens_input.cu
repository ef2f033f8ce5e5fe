// Makes the input constant, so that a constant output is right.
// rule: C4
// expect: contract_violation input.mutated
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void flatten(float *x, float *y, int64_t n, float value)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        x[i] = 0;
        y[i] = value;
    }
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    flatten<<<16, 256, 0, stream>>>((float *)x, y, rows * cols, 1.0f / cols);
}
