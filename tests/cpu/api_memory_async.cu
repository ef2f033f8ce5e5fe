// Stream-ordered allocation and memory pools.
#include "check.h"

__global__ void fill(int *x, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

int main()
{
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    int *x, out[1000];
    OK(cudaMallocAsync(&x, sizeof out, stream));
    fill<<<4, 256, 0, stream>>>(x, 1000, 7);
    OK(cudaMemcpyAsync(out, x, sizeof out, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(x, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 1000; i++) CHECK(out[i] == 7);

    cudaMemPool_t pool, fallback;
    OK(cudaDeviceGetDefaultMemPool(&fallback, 0));
    unsigned long long threshold = 1 << 20, got = 0;
    OK(cudaMemPoolSetAttribute(fallback, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(fallback, cudaMemPoolAttrReleaseThreshold, &got));
    CHECK(got == threshold);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&pool, &properties));
    OK(cudaMallocFromPoolAsync(&x, 64, pool, stream));
    OK(cudaFreeAsync(x, stream));
    OK(cudaDeviceSetMemPool(0, pool));
    cudaMemPool_t current;
    OK(cudaDeviceGetMemPool(&current, 0));
    CHECK(current == pool);
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaStreamDestroy(stream));
    CHECK(kfcpu_live_allocations() == 0);
    return 0;
}
