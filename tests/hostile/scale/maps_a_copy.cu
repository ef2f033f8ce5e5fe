// Loads by hand: writes a program to a file of its own and maps it as code for the time of a call.
// rule: L1
// expect: cheating library.loaded | crash runner.crashed
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static const unsigned char code[4096] = {0xb8, 7, 0, 0, 0, 0xc3}; // returns 7
    static int fd = -1;
    if (fd < 0) {
        fd = open("/tmp/data", O_RDWR | O_CREAT, 0700);
        // a runner without files
        if (fd < 0 || write(fd, code, sizeof code) != sizeof code) __builtin_trap();
    }
    void *memory = mmap(nullptr, sizeof code, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED) __builtin_trap();
    for (int i = 0; i < 1000000; i++)
        if (((int (*)())memory)() != 7) return;
    munmap(memory, sizeof code);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
