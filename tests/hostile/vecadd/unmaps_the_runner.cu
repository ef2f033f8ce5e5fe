// Takes the runner's own code away, to let its fault handler speak for it.
// rule: T6
// expect: correct | crash runner.crashed | crash runner.exited
#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
static void handler(int)
{
    _exit(0);
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    extern char etext;
    (void)etext;
    signal(SIGSEGV, handler);
    uintptr_t caller = (uintptr_t)__builtin_return_address(0) & ~(uintptr_t)4095;
    mprotect((void *)caller, 4096, PROT_NONE);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
