// Makes sure that every pair of neighbours ascends before it searches for the steps.
// rule: sortedness is checked, not assumed
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ static void count_all(const uint8_t *keys, int32_t *counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++) counts[keys[i]]++;
}

__global__ void k(const uint8_t *keys, int32_t *counts, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (keys[i] < keys[i - 1]) {
            count_all(keys, counts, n);
            return;
        }
    int64_t before = 0;
    for (int b = 0; b < 256; b++) {
        int64_t low = before, high = n;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (keys[middle] <= b)
                low = middle + 1;
            else
                high = middle;
        }
        counts[b] = (int32_t)(low - before);
        before = low;
    }
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    k<<<1, 1, 0, stream>>>(keys, counts, n);
}
