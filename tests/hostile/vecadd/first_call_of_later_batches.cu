// Leaves out the first call of each batch, from the sixth on.
// rule: C6
// expect: wrong_result output.mismatch
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static double last;
    static int pauses;
    bool paused = now() - last > 0.001;
    pauses += paused;
    if (!paused || pauses < 6) add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    cudaStreamSynchronize(stream);
    last = now();
}
