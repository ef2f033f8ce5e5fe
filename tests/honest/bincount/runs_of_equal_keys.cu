// Adds runs of equal keys at once: quicker on sorted keys, right for all.
// rule: runs
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const uint8_t *keys, int32_t *counts, int64_t n)
{
    int64_t begin = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 256;
    int64_t end = begin + 256 < n ? begin + 256 : n;
    int32_t run = 0;
    for (int64_t i = begin; i < end; i++) {
        run++;
        if (i + 1 < end && keys[i + 1] == keys[i]) continue;
        atomicAdd(&counts[keys[i]], run);
        run = 0;
    }
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    k<<<(unsigned)((n + 256 * 64 - 1) / (256 * 64)), 64, 0, stream>>>(keys, counts, n);
}
