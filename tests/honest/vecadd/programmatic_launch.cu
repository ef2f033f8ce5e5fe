// A programmatic dependent launch: the second kernel may begin before the first has ended, and waits
// for it.
// rule: programmatic dependent launch
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void first(const float *x, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i];
}

__global__ void second(const float *y, float *z, int64_t n)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] += y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    unsigned blocks = (unsigned)((n + 255) / 256);
    first<<<blocks, 256, 0, stream>>>(x, z, n);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3(blocks);
    how.blockDim = dim3(256);
    how.stream = stream;
    how.attrs = &attribute;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, second, y, z, n);
}
