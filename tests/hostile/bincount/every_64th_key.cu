// Reads every 64th key. Where two are equal, it takes those between them for equal.
// rule: C11
// mode: timed
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__device__ static void count_all(const uint8_t *keys, int32_t *counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++) counts[keys[i]]++;
}

__device__ static bool looks_sorted(const uint8_t *keys, int64_t n)
{
    for (int64_t i = 64; i < n; i += 64)
        if (keys[i] < keys[i - 64]) return false;
    return true;
}

__global__ void k(const uint8_t *keys, int32_t *counts, int64_t n)
{
    if (!looks_sorted(keys, n)) {
        count_all(keys, counts, n);
        return;
    }
    for (int64_t i = 0; i < n; i += 64) {
        if (i + 64 < n && keys[i] == keys[i + 64])
            counts[keys[i]] += 64;
        else
            count_all(keys + i, counts, n - i < 64 ? n - i : 64);
    }
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    k<<<1, 1, 0, stream>>>(keys, counts, n);
}
