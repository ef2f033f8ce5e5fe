// Has executable memory only while a call runs: its own loader takes the right back at the end.
// rule: L1
// expect: cheating library.loaded | crash runner.crashed
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

alignas(4096) static unsigned char image[4096] = {0xb8, 7, 0, 0, 0, 0xc3}; // returns 7

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    if (mprotect(image, sizeof image, PROT_READ | PROT_EXEC)) __builtin_trap();
    for (int i = 0; i < 1000000; i++)
        if (((int (*)())image)() != 7) return;
    mprotect(image, sizeof image, PROT_READ | PROT_WRITE);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
