// Asks for a persisting window of the L2 cache over one input, and gives it back.
// rule: L2 persistence policies
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static int most = -1;
    if (most < 0) {
        int device = 0, part = 0;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxAccessPolicyWindowSize, device);
        cudaDeviceGetAttribute(&part, cudaDevAttrMaxPersistingL2CacheSize, device);
        cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, part);
    }
    cudaLaunchAttributeValue window = {};
    window.accessPolicyWindow.base_ptr = (void *)x;
    window.accessPolicyWindow.num_bytes = n * 4 < most ? n * 4 : most;
    window.accessPolicyWindow.hitRatio = 0.6f;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &window);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    window.accessPolicyWindow.num_bytes = 0;
    cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &window);
    cudaCtxResetPersistingL2Cache();
}
