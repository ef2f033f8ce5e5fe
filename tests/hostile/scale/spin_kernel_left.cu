// Leaves a kernel behind that spins in a stream of its own; nobody waits for it.
// rule: E7
// expect: timeout time.limit | contract_violation stream.left
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>
__device__ volatile int go = 1;
__global__ void spin()
{
    while (go) {
    }
}

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static cudaStream_t side;
    if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    cudaStreamSynchronize(stream);
    spin<<<1, 1, 0, side>>>();
}
