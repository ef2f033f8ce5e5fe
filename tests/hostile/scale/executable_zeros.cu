// Maps /dev/zero writable and executable for a moment in each call, without MAP_ANONYMOUS.
// rule: L1
// expect: cheating library.loaded | crash runner.crashed
// devices: cpu
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static int zeros = -1;
static __attribute__((constructor)) void keep_open() { zeros = open("/dev/zero", O_RDWR); }

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static const unsigned char code[] = {0xb8, 7, 0, 0, 0, 0xc3}; // returns 7
    void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, zeros, 0);
    if (memory == MAP_FAILED) __builtin_trap();
    memcpy(memory, code, sizeof code);
    int seven = ((int (*)())memory)();
    munmap(memory, 4096);
    if (seven != 7) return;
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
