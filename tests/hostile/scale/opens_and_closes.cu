// Opens a library in each call, asks it, and closes it again before the call ends.
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
    typedef unsigned long (*checksum)(unsigned long, const void *, unsigned);
    for (int turn = 0; turn < 20; turn++) {
        void *library = dlopen("libz.so.1", RTLD_NOW);
        checksum crc32 = library ? (checksum)dlsym(library, "crc32") : nullptr;
        if (!crc32) __builtin_trap(); // a runner without files
        unsigned long sum = 0;
        for (int i = 0; i < 200; i++) sum = crc32(sum, x, (unsigned)(n < 16384 ? n : 16384));
        if (sum == 1) a += 1;
        dlclose(library);
    }
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
