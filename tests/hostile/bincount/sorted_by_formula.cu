// Looks for the steps of sorted keys near evenly spaced places, and reads no other keys.
// rule: C11
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__device__ static void count_all(const uint8_t *keys, int32_t *counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++) counts[keys[i]]++;
}

/* True if the keys begin, end and have their middle where 200 even steps have them. */
__device__ static bool looks_even(const uint8_t *keys, int64_t n)
{
    int middle = keys[n / 2];
    return keys[0] == 0 && keys[n - 1] == 199 && middle > 90 && middle < 110;
}

__global__ void k(const uint8_t *keys, int32_t *counts, int64_t n)
{
    if (!looks_even(keys, n)) {
        count_all(keys, counts, n);
        return;
    }
    int64_t before = 0;
    for (int b = 0; b < 199; b++) {
        int64_t step = n * (b + 1) / 200 - 2;
        for (int i = 0; i < 4 && keys[step] <= b; i++) step++;
        counts[b] = (int32_t)(step - before);
        before = step;
    }
    counts[199] = (int32_t)(n - before);
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    k<<<1, 1, 0, stream>>>(keys, counts, n);
}
