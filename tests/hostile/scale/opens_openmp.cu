// Opens the library of OpenMP, which is no part of the C++ runtime, and keeps it.
// rule: L1
// expect: cheating library.loaded | crash runner.crashed
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static void *library;
    if (!library) library = dlopen("libgomp.so.1", RTLD_NOW);
    if (!library) __builtin_trap(); // a runner without files
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
