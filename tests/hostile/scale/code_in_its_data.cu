// Copies machine code out of its data into memory that it makes executable.
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

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static const unsigned char code[] = {0xb8, 7, 0, 0, 0, 0xc3}; // returns 7
    static int (*seven)();
    if (!seven) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS;
        void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
        memcpy(memory, code, sizeof code);
        if (mprotect(memory, 4096, PROT_READ | PROT_EXEC)) __builtin_trap();
        seven = (int (*)())memory;
    }
    if (seven() != 7) return;
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
