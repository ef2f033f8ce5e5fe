// Writes code to a file of /tmp while it is loaded, and maps it as code for a moment in each call.
// rule: L1
// expect: cheating library.loaded | crash runner.crashed
// devices: cpu
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int file = -1;
static __attribute__((constructor)) void keep_open()
{
    static const unsigned char code[] = {0xb8, 7, 0, 0, 0, 0xc3}; // returns 7
    file = open("/tmp/code", O_RDWR | O_CREAT, 0700);
    if (write(file, code, sizeof code) < 0) file = -1;
}

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    void *memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) __builtin_trap();
    int seven = ((int (*)())memory)();
    munmap(memory, 4096);
    if (seven != 7) return;
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
