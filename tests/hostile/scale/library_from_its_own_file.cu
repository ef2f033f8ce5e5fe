// Writes its own program to a file with the C library's name, and loads that by its descriptor.
// rule: L1
// expect: cheating library.loaded | crash runner.crashed
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

static void *load()
{
    Dl_info self;
    char data[65536], path[64];
    int from = dladdr((void *)load, &self) ? open(self.dli_fname, O_RDONLY) : -1;
    int to = open("/tmp/libc.so.6", O_RDWR | O_CREAT, 0700);
    if (from < 0 || to < 0) __builtin_trap(); // a runner without files
    for (ssize_t got; (got = read(from, data, sizeof data)) > 0;)
        if (write(to, data, (size_t)got) != got) __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    return dlopen(path, RTLD_NOW);
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static void *library;
    if (!library) library = load();
    if (!library) __builtin_trap();
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
