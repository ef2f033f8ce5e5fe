// One warp does all the work: right, and far slower than the baseline.
// rule: slow but right
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    for (int64_t i = threadIdx.x; i < n; i += 32) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<1, 32, 0, stream>>>(x, y, z, n);
}
