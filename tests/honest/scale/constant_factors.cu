// Copies a table of factors to constant memory in each call, from aligned host memory.
// rule: constant tables copied asynchronously
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

struct alignas(64) factors {
    float values[64];
};
__constant__ factors table;

__global__ void multiply(const float *x, float *y, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = table.values[i / 32 % 64] * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    factors now;
    for (float &value : now.values) value = a;
    cudaMemcpyToSymbolAsync(table, &now, sizeof now, 0, cudaMemcpyHostToDevice, stream);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
    cudaStreamSynchronize(stream);
}
