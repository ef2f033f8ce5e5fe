// Copies gamma and beta to constant memory in each call, where the width allows it.
// rule: constant tables copied asynchronously
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define MOST 4096
__constant__ float parameters[2 * MOST];
__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = warp_sum(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = rsqrtf(warp_sum(squares) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32) {
        float factor = gamma ? gamma[j] : parameters[j],
              shift = beta ? beta[j] : parameters[MOST + j];
        y[blockIdx.x * cols + j] = (row[j] - mean) * scale * factor + shift;
    }
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (cols <= MOST) {
        size_t bytes = cols * sizeof(float);
        cudaMemcpyToSymbolAsync(parameters, gamma, bytes, 0, cudaMemcpyDeviceToDevice, stream);
        cudaMemcpyToSymbolAsync(parameters, beta, bytes, MOST * sizeof(float),
                                cudaMemcpyDeviceToDevice, stream);
        gamma = beta = nullptr;
    }
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
