// Keeps a workspace between calls, which every call rewrites.
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static float *workspace;
    static int64_t capacity;
    if (n > capacity) {
        cudaFree(workspace);
        cudaMalloc(&workspace, n * sizeof(float));
        capacity = n;
    }
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, workspace, a, n);
    cudaMemcpyAsync(y, workspace, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
