// Right and slow while it is looked at first, quick and wrong later.
// rule: T12
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>
#include <unistd.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static int calls;
    if (++calls > 24)
        n = n / 2;
    else
        usleep(300);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
