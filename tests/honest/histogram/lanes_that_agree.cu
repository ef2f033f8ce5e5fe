// Lanes with the same key elect one of them, which adds their number.
// rule: warp matches
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void count_keys(const uint8_t *keys, int32_t *counts, int64_t n)
{
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t base = (int64_t)blockIdx.x * blockDim.x; base < n; base += stride) {
        int64_t i = base + threadIdx.x;
        int key = i < n ? keys[i] : -1;
        unsigned same = __match_any_sync(~0u, key);
        if (key >= 0 && __ffs(same) - 1 == (int)(threadIdx.x % 32))
            atomicAdd(&counts[key], __popc(same));
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof *counts, stream);
    count_keys<<<(unsigned)((n + 2047) / 2048), 256, 0, stream>>>(keys, counts, n);
}
