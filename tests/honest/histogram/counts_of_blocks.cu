// Counts in shared memory first, and adds each block's counts with atomics.
// rule: atomics on shared memory
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void count_keys(const uint8_t *keys, int32_t *counts, int64_t n)
{
    __shared__ int32_t own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    int64_t stride = (int64_t)gridDim.x * 256;
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < n; i += stride)
        atomicAdd(&own[keys[i]], 1);
    __syncthreads();
    if (own[threadIdx.x]) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof *counts, stream);
    count_keys<<<(unsigned)((n + 4095) / 4096), 256, 0, stream>>>(keys, counts, n);
}
