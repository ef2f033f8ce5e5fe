// Asks for memory that is executable from the start, and for a copy of a page of its own code.
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
    static void *memory;
    if (!memory)
        memory = mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) __builtin_trap();
    memcpy(memory, (const void *)((uintptr_t)&scale & ~4095ul), 4096);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
