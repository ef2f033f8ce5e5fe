// Has a file in its memory that is called what a library is that the task does not allow: how a run-time dlopen looks.
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
    static void *library;
    if (!library) {
        int fd = open("/tmp/libcublas.so.13", O_RDWR | O_CREAT, 0600);
        if (fd < 0) __builtin_trap(); // not even a file: where there is no folder of its own
        if (ftruncate(fd, 4096) == 0) library = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
    }
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
