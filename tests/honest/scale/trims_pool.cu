// Allocates from the default pool in each call, and trims the pool to nothing afterwards.
// rule: cudaMallocAsync in each call
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    cudaMemPool_t pool;
    float *copy = nullptr;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMallocAsync((void **)&copy, n * sizeof *copy, stream);
    cudaMemcpyAsync(copy, x, n * sizeof *copy, cudaMemcpyDeviceToDevice, stream);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(copy, y, a, n);
    cudaFreeAsync(copy, stream);
    cudaStreamSynchronize(stream);
    cudaMemPoolTrimTo(pool, 0);
}
