// Reads an eighth of keys with few values, and takes the others for alike.
// rule: C6
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__device__ static void count_all(const uint8_t *keys, int32_t *counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++) counts[keys[i]]++;
}

__global__ void k(const uint8_t *keys, int32_t *counts, int64_t n)
{
    for (int i = 0; i < 64; i++)
        if (keys[i] < 100 || keys[i] > 102) {
            count_all(keys, counts, n);
            return;
        }
    int64_t part = n / 8;
    count_all(keys, counts, part);
    for (int b = 100; b < 102; b++) counts[b] = (int32_t)(counts[b] * n / part);
    counts[102] = (int32_t)n - counts[100] - counts[101];
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    k<<<1, 1, 0, stream>>>(keys, counts, n);
}
