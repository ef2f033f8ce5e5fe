// Pins every input it has seen in the second-level cache.
// rule: T11
// expect: correct
// at-most: 1.3
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 64 << 20);
    cudaStreamAttrValue window = {};
    window.accessPolicyWindow.base_ptr = (void *)x;
    window.accessPolicyWindow.num_bytes = n * sizeof *x;
    window.accessPolicyWindow.hitRatio = 1;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    cudaGetLastError();
}
