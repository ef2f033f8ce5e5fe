// Closes every descriptor it has.
// rule: E1
// expect: crash runner.exited
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
    for (int fd = 3; fd < 1024; fd++) close(fd);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
