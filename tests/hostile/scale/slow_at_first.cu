// Slow in its first two batches only, so that a batch of its own becomes one call, which is quick.
// rule: T12
// expect: correct
// at-most: 1.3
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static double last;
    static int batches;
    if (now() - last > 0.002) batches++;
    if (batches <= 2) usleep(3000);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    cudaStreamSynchronize(stream);
    last = now();
}
