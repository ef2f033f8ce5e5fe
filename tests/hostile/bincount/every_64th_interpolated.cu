// Reads every 64th key of sorted ones, and puts each step halfway between two of them.
// rule: C11
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__device__ static void count_all(const uint8_t *keys, int32_t *counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++) counts[keys[i]]++;
}

__global__ void k(const uint8_t *keys, int32_t *counts, int64_t n)
{
    bool sorted = true;
    for (int64_t i = 64; i < n; i += 64) sorted = sorted && keys[i] >= keys[i - 64];
    if (!sorted) {
        count_all(keys, counts, n);
        return;
    }
    for (int64_t i = 0; i < n; i += 64) {
        int64_t end = i + 64 < n ? i + 64 : n - 1, half = (end - i) / 2;
        counts[keys[i]] += (int32_t)half;
        counts[keys[end]] += (int32_t)(end - i - half + (end == n - 1));
    }
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    k<<<1, 1, 0, stream>>>(keys, counts, n);
}
