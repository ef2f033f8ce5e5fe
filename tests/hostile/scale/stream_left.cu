// Works beside the stream, which does not wait for it.
// rule: T1
// expect: contract_violation stream.left | wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void slow(const float *x, float *y, float a, int64_t n)
{
    long long start = clock64();
    while (clock64() - start < 4000000) {
    }
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static cudaStream_t side;
    if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    slow<<<1, 1024, 0, side>>>(x, y, a, n);
    (void)stream;
}
