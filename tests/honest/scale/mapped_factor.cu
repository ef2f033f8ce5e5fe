// Passes the factor through mapped host memory, and waits before it is written again.
// rule: mapped host memory
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *x, float *y, const float *factor, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = *factor * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static float *factor, *seen;
    if (!factor) {
        cudaHostAlloc((void **)&factor, sizeof *factor, cudaHostAllocMapped);
        cudaHostGetDevicePointer((void **)&seen, factor, 0);
    }
    *factor = a;
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, seen, n);
    cudaStreamSynchronize(stream);
}
