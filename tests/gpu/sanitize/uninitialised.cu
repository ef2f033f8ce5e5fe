/* expect: correct sanitizer.initcheck
 * Reads uninitialised memory of its own and ignores the value. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void reads_nothing(const float *x, float *y, float a, int64_t n, const float *own)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = a * x[i] + y[i];
    float found = own[i % 1024]; /* here */
    if (found == 12345.678f && x[i] == 87654.321f) y[i] = 0.0f;
}

extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static float *own;
    if (!own) cudaMalloc(&own, 1024 * sizeof *own);
    reads_nothing<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n, own);
}
