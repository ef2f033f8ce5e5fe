// Chooses a kernel from a table of addresses, by the alignment of the pointers.
// rule: launches by address
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add1(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
__global__ void add4(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        float4 a = *(const float4 *)&x[i], b = *(const float4 *)&y[i];
        *(float4 *)&z[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    } else {
        for (; i < n; i++) z[i] = x[i] + y[i];
    }
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static const void *const kernels[] = {(const void *)add1, (const void *)add4};
    int wide = ((uintptr_t)x | (uintptr_t)y | (uintptr_t)z) % 16 == 0;
    int64_t threads = wide ? (n + 3) / 4 : n;
    void *arguments[] = {&x, &y, &z, &n};
    cudaLaunchKernel(kernels[wide], dim3((unsigned)((threads + 255) / 256)), dim3(256), arguments,
                     0, stream);
}
