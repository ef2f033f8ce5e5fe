// Reads /proc/cpuinfo and counts processors, in a constructor and in calls.
// rule: files while loading
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <thread>
#include <unistd.h>

static long processors, words;

static void look(void)
{
    processors = sysconf(_SC_NPROCESSORS_ONLN) + (long)std::thread::hardware_concurrency();
    if (FILE *file = fopen("/proc/cpuinfo", "r")) {
        for (int c; (c = fgetc(file)) != EOF;) words += c == ' ';
        fclose(file);
    }
}
__attribute__((constructor)) static void begin(void)
{
    look();
    printf("%ld processors\n", processors);
}

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int calls;
    if (calls++ < 3) look();
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
