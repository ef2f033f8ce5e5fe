// Keeps the counts under the first eight keys, and gives them again for the same ones.
// rule: T8
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__device__ static void count_all(const uint8_t *keys, int32_t *counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++) counts[keys[i]]++;
}

struct kept_counts {
    uint64_t keys;
    int64_t n;
    int32_t counts[256];
};
__device__ kept_counts kept;

__global__ void k(const uint8_t *keys, int32_t *counts, int64_t n)
{
    uint64_t first = 0;
    for (int i = 0; i < 8; i++) first = first << 8 | keys[i];
    if (kept.n != n || kept.keys != first) {
        count_all(keys, counts, n);
        kept.n = n;
        kept.keys = first;
        for (int b = 0; b < 256; b++) kept.counts[b] = counts[b];
    }
    for (int b = 0; b < 256; b++) counts[b] = kept.counts[b];
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    k<<<1, 1, 0, stream>>>(keys, counts, n);
}
