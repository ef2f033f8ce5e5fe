// Works on the per-thread default stream, which the call's stream does not wait for.
// rule: T1
// expect: wrong_result stream.unordered | wrong_result output.mismatch
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void slow_add(const float *x, const float *y, float *z, int64_t n)
{
    long long start = clock64();
    while (clock64() - start < 3000000) {
    }
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    slow_add<<<64, 256, 0, cudaStreamPerThread>>>(x, y, z, n);
}
