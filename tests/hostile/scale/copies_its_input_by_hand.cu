// Copies the input with cudaMemcpy, which does not wait for a non-blocking stream.
// rule: T1
// expect: wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

#include <vector>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static float *own;
    static int64_t room;
    static std::vector<float> host;
    if (n > room) {
        cudaFree(own);
        cudaMalloc(&own, (size_t)n * sizeof *own);
        host.resize((size_t)n);
        room = n;
    }
    cudaMemcpy(host.data(), x, (size_t)n * sizeof *own, cudaMemcpyDeviceToHost);
    cudaMemcpy(own, host.data(), (size_t)n * sizeof *own, cudaMemcpyHostToDevice);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(own, y, a, n);
}
