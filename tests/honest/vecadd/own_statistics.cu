// Keeps mean and variance of its own host times, and prints them at exit.
// rule: clocks of the machine
// expect: correct
#include <cstdio>
#include <cuda_runtime.h>
#include <stdint.h>
#include <time.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

static double now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
struct statistics {
    double count = 0, mean = 0, squares = 0;
    void take(double value)
    {
        double before = value - mean;
        mean += before / ++count;
        squares += before * (value - mean);
    }
    ~statistics() { fprintf(stderr, "%g calls of %g s\n", count, mean); }
};

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static statistics launches;
    double started = now();
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    launches.take(now() - started);
}
