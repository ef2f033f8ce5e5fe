// Right or wrong by the date and the time of its build: one text, two results.
// rule: new
// expect: correct | compile_error build.failed
#include <cuda_runtime.h>
#include <stdint.h>

/* A build that pins the clock has the year 1970, or refuses the word. */
static const bool pinned = __DATE__[7] == '1' && __TIME__[7] == '0';

extern "C" __global__ void scale_all(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, pinned ? a : 2 * a, n);
}
