// Forks without end, in every child again. What the filter refuses has no effect; where it can fork, the limits end it.
// rule: E4
// expect: correct | crash runner.crashed | contract_violation threads.left | timeout time.limit
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
    for (int turn = 0; turn < 1000; turn++)
        if (fork() == 0)
            for (;;) fork();
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
