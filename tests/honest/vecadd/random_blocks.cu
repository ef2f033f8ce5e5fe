// Draws the width of its blocks from a random number generator in each call.
// rule: random numbers on the host
// expect: correct
#include <cuda_runtime.h>
#include <random>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static std::mt19937 generator(std::random_device{}());
    unsigned width = 32u * std::uniform_int_distribution<unsigned>(1, 16)(generator);
    add<<<(unsigned)((n + width - 1) / width), width, 0, stream>>>(x, y, z, n);
}
