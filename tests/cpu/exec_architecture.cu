// Code behind __CUDA_ARCH__ runs: in kernels without any other code, and where values differ by it.
#include "check.h"

__global__ void only_there(int *x)
{
#if __CUDA_ARCH__ >= 800
    x[threadIdx.x] = 100 * (int)threadIdx.x;
#endif
}

__host__ __device__ int architecture()
{
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__;
#else
    return 0;
#endif
}

__global__ void ask(int *x) { x[threadIdx.x] += architecture(); }

template <int n> __global__ void unused(int *x)
{
#if __CUDA_ARCH__ >= 700
    asm volatile("bar.sync %0;" ::"n"(n));
#endif
}

int main()
{
    int *x;
    OK(cudaMallocManaged(&x, 64 * sizeof *x));
    only_there<<<1, 64>>>(x);
    ask<<<1, 64>>>(x);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CHECK(x[i] == 100 * i + 860);
    return 0;
}
