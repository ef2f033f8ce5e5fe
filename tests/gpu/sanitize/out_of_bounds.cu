/* expect: contract_violation sanitizer.memcheck
 * Correct, but reads one element past the end of x and ignores its value. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void reads_behind(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float next = x[i + 1]; /* here */
    y[i] = a * x[i] + y[i];
    if (next == 12345.678f && x[i] == 87654.321f) y[i] = 0.0f;
}

extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    reads_behind<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
