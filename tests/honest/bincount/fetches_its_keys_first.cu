// Fetches its own keys into the cache while it clears its counters.
// rule: prefetching of own inputs
// expect: correct
// mode: timed
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

#define CHUNK 4096

__global__ void bincount_kernel(const uint8_t *keys, int32_t *counts, int64_t n, const uint8_t *own)
{
    __shared__ int32_t local[256];
    local[threadIdx.x] = 0;
    const int64_t at = 128 * (int64_t)(blockIdx.x * 256 + threadIdx.x);
    if (at < n) asm volatile("prefetch.global.L2 [%0];" ::"l"(own + at));
    __syncthreads();
    int64_t begin = (int64_t)blockIdx.x * CHUNK, end = begin + CHUNK < n ? begin + CHUNK : n;
    for (int64_t i = begin + threadIdx.x; i < end; i += 256) atomicAdd(&local[keys[i]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    bincount_kernel<<<(unsigned)((n + CHUNK - 1) / CHUNK), 256, 0, stream>>>(keys, counts, n, keys);
}
