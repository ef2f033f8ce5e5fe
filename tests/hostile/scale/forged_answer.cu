// Writes an answer to the judge's socket itself.
// rule: E1
// expect: cheating protocol.forged
#include <cuda_runtime.h>
#include <stdint.h>
#include <unistd.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    char answer[40] = {0x66, 0x6b, 0x67, 0x31};
    write(3, answer, sizeof answer);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
