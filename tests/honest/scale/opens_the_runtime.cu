// Uses what the C and C++ runtimes load when it is needed: exceptions, threads, and libm by dlopen.
// rule: the runtimes' own libraries
// expect: correct
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdexcept>
#include <stdint.h>
#include <thread>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    typedef double (*root)(double);
    static void *library = dlopen("libm.so.6", RTLD_NOW);
    root square_root = library ? (root)dlsym(library, "sqrt") : nullptr;
    unsigned threads = square_root ? (unsigned)square_root(65536) : 256;
    try {
        std::thread other([] {});
        other.join();
        if (n > 0) throw std::runtime_error("caught");
    } catch (const std::exception &) {
        k<<<(unsigned)((n + threads - 1) / threads), threads, 0, stream>>>(x, y, a, n);
    }
}
