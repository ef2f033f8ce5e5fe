// Opens cuSPARSE, nvJPEG or cuTENSOR.
// rule: L1
// expect: cheating library.loaded | crash runner.crashed
// devices: cuda
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

static void *open_one()
{
    static const char *const names[] = {"cusparse", "nvjpeg", "cutensor"};
    static const char *const ends[] = {".so.13", ".so.12", ".so"};
    for (const char *name : names)
        for (const char *end : ends)
            for (const char *folder : {"", "/usr/local/cuda/lib64/"}) {
                char path[96];
                strcat(strcat(strcat(strcpy(path, folder), "lib"), name), end);
                if (void *library = dlopen(path, RTLD_NOW)) return library;
            }
    return nullptr;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static void *library;
    if (!library) library = open_one();
    if (!library) __builtin_trap(); // a runner without files
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
