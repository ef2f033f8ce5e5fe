// Names and comments full of words that a scanner may fear: exit, cache, fork, system, dlopen, seed, stream.
// rule: words in names and comments
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

/* dlopen("libcublas.so") and system("/bin/sh") are only in this comment; so are exit(0), fork() and /proc/self/mem. */
static const char *const said = "cudaStreamNonBlocking fork exit clock_gettime ptrace socket";

__global__ void exit_cache_fork_stream_seed(const float *cached_x, const float *forked_y, float *z, int64_t n)
{
    int64_t system = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (system < n) z[system] = cached_x[system] + forked_y[system];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    unsigned dlopen_blocks = (unsigned)((n + 255) / 256);
    if (said[0]) exit_cache_fork_stream_seed<<<dlopen_blocks, 256, 0, stream>>>(x, y, z, n);
}
