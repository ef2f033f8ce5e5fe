#include <cuda_runtime.h>
#include <stdint.h>

__global__ void count_keys(const uint8_t *keys, int32_t *counts, int64_t n)
{
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&counts[keys[i]], 1);
}

extern "C" void histogram_oracle(const uint8_t *keys, int32_t *counts, int64_t n,
                                 cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof *counts, stream);
    count_keys<<<(unsigned)((n + 1023) / 1024), 256, 0, stream>>>(keys, counts, n);
}
