// Nothing of this is used by the host: code for the GPU's own compiler, comments, names that the candidate gives a meaning of its own.
#include "check.h"

#define WARP_ASM(x) asm volatile("mov.u32 %0, %laneid;" : "=r"(x))

__device__ int lane()
{
    int x = threadIdx.x % 32;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    WARP_ASM(x);
#endif
    asm volatile("" ::: "memory"); // a compiler barrier
    return x;
}

__device__ float tex2D(float x, float y) { return x + y; } // not nvcuda::wmma
struct cub {
    int thrust;
};

__global__ void k(float *x)
{
    cub c = {lane()};
    x[threadIdx.x] = tex2D(1, c.thrust);
}

int main()
{
#ifdef __CUDA_ARCH__
    return 1;
#endif
#if !defined(__CUDACC__) || !defined(__NVCC__)
    return 2;
#endif
    float *x;
    OK(cudaMallocManaged(&x, 64 * sizeof *x));
    k<<<1, 64>>>(x);
    OK(cudaDeviceSynchronize());
    CHECK(x[35] == 4);
    return 0;
}
