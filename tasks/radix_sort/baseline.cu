/* Radix sort, least significant digit first, 4 bits a pass (Satish, Harris and Garland, "Designing
 * efficient sorting algorithms for manycore GPUs", 2009). A pass has three launches: the digits of
 * each tile are counted, the counts of each digit are scanned, each tile's pairs go to their
 * places. A thread has 8 consecutive pairs and a counter a digit, so that equal keys keep their
 * order. Cost: eight passes, each of which reads the keys twice, the values once, and writes both
 * scattered. */
#include <cuda_runtime.h>
#include <stdint.h>

#define BITS 4
#define DIGITS 16
#define THREADS 256
#define ITEMS 8
#define TILE (THREADS * ITEMS)

/* Negative keys come first: their sign bit is flipped. */
__device__ int digit_of(int32_t key, int shift)
{
    return (int)((((uint32_t)key ^ 0x80000000u) >> shift) & (DIGITS - 1));
}

/* counts[d][tile] */
__global__ void count_digits(const int32_t *keys, int32_t *counts, int64_t n, int shift)
{
    __shared__ int32_t bins[DIGITS];
    if (threadIdx.x < DIGITS) bins[threadIdx.x] = 0;
    __syncthreads();
    const int64_t begin = (int64_t)blockIdx.x * TILE;
    for (int i = threadIdx.x; i < TILE; i += THREADS)
        if (begin + i < n) atomicAdd(&bins[digit_of(keys[begin + i], shift)], 1);
    __syncthreads();
    if (threadIdx.x < DIGITS) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

/* Returns the sum over the threads before this one; *total is the sum over all. */
__device__ int32_t block_scan(int32_t value, int32_t *total)
{
    __shared__ int32_t sum[THREADS];
    const int t = threadIdx.x;
    sum[t] = value;
    __syncthreads();
    for (int distance = 1; distance < THREADS; distance *= 2) {
        const int32_t other = t >= distance ? sum[t - distance] : 0;
        __syncthreads();
        sum[t] += other;
        __syncthreads();
    }
    const int32_t before = sum[t] - value;
    *total = sum[THREADS - 1];
    __syncthreads();
    return before;
}

/* One block a digit. Each count becomes the sum of those of earlier tiles. */
__global__ void scan_counts(int32_t *counts, int32_t *totals, int tiles)
{
    int32_t *row = counts + (int64_t)blockIdx.x * tiles, carry = 0, total;
    for (int begin = 0; begin < tiles; begin += THREADS) {
        const int i = begin + threadIdx.x;
        const int32_t before = block_scan(i < tiles ? row[i] : 0, &total);
        if (i < tiles) row[i] = carry + before;
        carry += total;
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = carry;
}

__global__ void scatter(const int32_t *keys, const int32_t *values, int32_t *to_keys,
                        int32_t *to_values, const int32_t *counts, const int32_t *totals, int64_t n,
                        int shift)
{
    /* Of each digit and thread: first a count, then the next place in the tile. */
    __shared__ int32_t place[DIGITS * THREADS];
    /* Where a digit begins: in the output, less its beginning in the tile. */
    __shared__ int32_t begin_of[DIGITS];
    const int t = threadIdx.x;
    const int64_t first = (int64_t)blockIdx.x * TILE + t * ITEMS;
    for (int d = 0; d < DIGITS; d++) place[d * THREADS + t] = 0;
    for (int i = 0; i < ITEMS; i++)
        if (first + i < n) place[digit_of(keys[first + i], shift) * THREADS + t]++;
    __syncthreads();

    /* A scan of all counts, digit after digit: a thread has DIGITS consecutive ones. */
    int32_t sum = 0, total;
    for (int i = 0; i < DIGITS; i++) sum += place[t * DIGITS + i];
    int32_t before = block_scan(sum, &total);
    for (int i = 0; i < DIGITS; i++) {
        const int32_t own = place[t * DIGITS + i];
        place[t * DIGITS + i] = before;
        before += own;
    }
    __syncthreads();
    if (t < DIGITS) {
        int32_t start = counts[t * gridDim.x + blockIdx.x] - place[t * THREADS];
        for (int d = 0; d < t; d++) start += totals[d];
        begin_of[t] = start;
    }
    __syncthreads();

    for (int i = 0; i < ITEMS; i++) {
        if (first + i >= n) break;
        const int32_t key = keys[first + i];
        const int d = digit_of(key, shift);
        const int64_t to = begin_of[d] + place[d * THREADS + t]++;
        to_keys[to] = key;
        to_values[to] = values[first + i];
    }
}

extern "C" void radix_sort(const int32_t *keys, const int32_t *values, int32_t *sorted_keys,
                           int32_t *sorted_values, void *scratch, int64_t n, cudaStream_t stream)
{
    const int tiles = (int)((n + TILE - 1) / TILE);
    int32_t *other_keys = (int32_t *)scratch, *other_values = other_keys + n;
    int32_t *totals = other_values + n, *counts = totals + DIGITS;
    for (int shift = 0; shift < 32; shift += BITS) {
        const bool even = shift / BITS % 2 == 0;
        const int32_t *from_keys = shift == 0 ? keys : even ? sorted_keys : other_keys;
        const int32_t *from_values = shift == 0 ? values : even ? sorted_values : other_values;
        count_digits<<<tiles, THREADS, 0, stream>>>(from_keys, counts, n, shift);
        scan_counts<<<DIGITS, THREADS, 0, stream>>>(counts, totals, tiles);
        scatter<<<tiles, THREADS, 0, stream>>>(
            from_keys, from_values, even ? other_keys : sorted_keys,
            even ? other_values : sorted_values, counts, totals, n, shift);
    }
}
