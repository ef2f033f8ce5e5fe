/* Radix sort, 4 bits a pass, with a sort of each tile in shared memory in front of the writes
 * (Satish, Harris and Garland, 2009): neighbouring threads then write pairs of one digit to
 * neighbouring places. Counters have 16 bits, two digits in a word would save more. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256 512
// kforge: tune ITEMS 4 8 16
// kforge: require THREADS * ITEMS <= 2048
#ifndef THREADS
#define THREADS 256
#endif
/* pairs a thread */
#ifndef ITEMS
#define ITEMS 8
#endif
#define BITS 4
#define DIGITS 16
#define TILE (THREADS * ITEMS)
#define WARPS (THREADS / 32)

__device__ __forceinline__ int digit_of(int32_t key, int shift)
{
    return (int)((((uint32_t)key ^ 0x80000000u) >> shift) & (DIGITS - 1));
}

/* Returns the sum over the threads before this one; *total is the sum over all. */
__device__ __forceinline__ int32_t block_scan(int32_t value, int32_t *total)
{
    __shared__ int32_t warp_sum[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int32_t sum = value;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const int32_t other = __shfl_up_sync(0xffffffffu, sum, distance);
        if (lane >= distance) sum += other;
    }
    __syncthreads(); /* the last call's sums have been read */
    if (lane == 31) warp_sum[warp] = sum;
    __syncthreads();
    int32_t before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) before += warp_sum[w];
        all += warp_sum[w];
    }
    *total = all;
    return before + sum - value;
}

__global__ void __launch_bounds__(THREADS)
    count_digits(const int32_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n,
                 int shift)
{
    /* A copy of the counters a warp. */
    __shared__ int32_t bins[WARPS][DIGITS + 1];
    for (int i = threadIdx.x; i < WARPS * (DIGITS + 1); i += THREADS) bins[0][i] = 0;
    __syncthreads();
    const int64_t begin = (int64_t)blockIdx.x * TILE;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int64_t at = begin + i * THREADS + threadIdx.x;
        if (at < n) atomicAdd(&bins[threadIdx.x / 32][digit_of(keys[at], shift)], 1);
    }
    __syncthreads();
    if (threadIdx.x < DIGITS) {
        int32_t sum = 0;
        for (int w = 0; w < WARPS; w++) sum += bins[w][threadIdx.x];
        counts[threadIdx.x * gridDim.x + blockIdx.x] = sum;
    }
}

__global__ void __launch_bounds__(THREADS) scan_counts(int32_t *counts, int32_t *totals, int tiles)
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

__global__ void __launch_bounds__(THREADS)
    scatter(const int32_t *__restrict__ keys, const int32_t *__restrict__ values,
            int32_t *__restrict__ to_keys, int32_t *__restrict__ to_values,
            const int32_t *__restrict__ counts, const int32_t *__restrict__ totals, int64_t n,
            int shift)
{
    __shared__ uint16_t place[DIGITS * THREADS];
    __shared__ int32_t begin_of[DIGITS], tile_keys[TILE], tile_values[TILE];
    const int t = threadIdx.x;
    const int64_t first = (int64_t)blockIdx.x * TILE;
    const int count = (int)(n - first < TILE ? n - first : TILE);
#pragma unroll
    for (int d = 0; d < DIGITS; d++) place[d * THREADS + t] = 0;
        /* Coalesced reads; a thread then takes consecutive pairs from shared memory. */
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int at = i * THREADS + t;
        if (at < count) {
            tile_keys[at] = keys[first + at];
            tile_values[at] = values[first + at];
        }
    }
    __syncthreads();
    int32_t key[ITEMS], value[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int at = t * ITEMS + i;
        if (at >= count) break;
        key[i] = tile_keys[at];
        value[i] = tile_values[at];
        place[digit_of(key[i], shift) * THREADS + t]++;
    }
    __syncthreads();

    int32_t sum = 0, total;
#pragma unroll
    for (int i = 0; i < DIGITS; i++) sum += place[t * DIGITS + i];
    int32_t before = block_scan(sum, &total);
#pragma unroll
    for (int i = 0; i < DIGITS; i++) {
        const int32_t own = place[t * DIGITS + i];
        place[t * DIGITS + i] = (uint16_t)before;
        before += own;
    }
    __syncthreads();
    if (t < DIGITS) {
        int32_t start = counts[t * gridDim.x + blockIdx.x] - place[t * THREADS];
        for (int d = 0; d < t; d++) start += totals[d];
        begin_of[t] = start;
    }
    __syncthreads();

#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        if (t * ITEMS + i >= count) break;
        const int to = place[digit_of(key[i], shift) * THREADS + t]++;
        tile_keys[to] = key[i];
        tile_values[to] = value[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int at = i * THREADS + t;
        if (at >= count) break;
        const int64_t to = begin_of[digit_of(tile_keys[at], shift)] + at;
        to_keys[to] = tile_keys[at];
        to_values[to] = tile_values[at];
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
