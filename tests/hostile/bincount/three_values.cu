// Counts only the values 100, 101 and 102 if the first keys hold no others.
// rule: C11
// mode: timed
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
    int32_t first = 0, second = 0;
    for (int64_t i = 0; i < n; i++) {
        first += keys[i] == 100;
        second += keys[i] == 101;
    }
    counts[100] = first;
    counts[101] = second;
    counts[102] = (int32_t)n - first - second;
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    k<<<1, 1, 0, stream>>>(keys, counts, n);
}
