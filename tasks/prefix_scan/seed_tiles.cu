/* Exclusive prefix sum in three launches with ITEMS consecutive elements a thread in registers: a
 * warp scans its threads' sums with shuffles, a block those of its warps, so that a tile takes two
 * barriers. Large tiles leave few sums to the block that scans them. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256 512
// kforge: tune ITEMS 4 8 16 32
#ifndef THREADS
#define THREADS 256
#endif
/* elements a thread */
#ifndef ITEMS
#define ITEMS 16
#endif
#define TILE (THREADS * ITEMS)
#define WARPS (THREADS / 32)

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

/* Loads the thread's elements, zeros behind the end. */
__device__ __forceinline__ void load(int32_t (&v)[ITEMS], const int32_t *x, int64_t first,
                                     int64_t n)
{
    if (first + ITEMS <= n) {
#pragma unroll
        for (int i = 0; i < ITEMS; i += 4) {
            const int4 part = *(const int4 *)(x + first + i);
            v[i] = part.x;
            v[i + 1] = part.y;
            v[i + 2] = part.z;
            v[i + 3] = part.w;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) v[i] = first + i < n ? x[first + i] : 0;
}

__global__ void __launch_bounds__(THREADS)
    tile_sums(const int32_t *__restrict__ x, int32_t *__restrict__ sums, int64_t n)
{
    int32_t v[ITEMS], sum = 0, total;
    load(v, x, (int64_t)blockIdx.x * TILE + threadIdx.x * ITEMS, n);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) sum += v[i];
    block_scan(sum, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(THREADS) scan_sums(int32_t *sums, int64_t tiles)
{
    int32_t carry = 0, total;
    for (int64_t begin = 0; begin < tiles; begin += TILE) {
        const int64_t first = begin + threadIdx.x * ITEMS;
        int32_t v[ITEMS], sum = 0;
        load(v, sums, first, tiles);
#pragma unroll
        for (int i = 0; i < ITEMS; i++) sum += v[i];
        int32_t before = carry + block_scan(sum, &total);
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            if (first + i < tiles) sums[first + i] = before;
            before += v[i];
        }
        carry += total;
    }
}

__global__ void __launch_bounds__(THREADS)
    scan_tiles(const int32_t *__restrict__ x, int32_t *__restrict__ y,
               const int32_t *__restrict__ sums, int64_t n)
{
    const int64_t first = (int64_t)blockIdx.x * TILE + threadIdx.x * ITEMS;
    int32_t v[ITEMS], sum = 0, total;
    load(v, x, first, n);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) sum += v[i];
    int32_t before = sums[blockIdx.x] + block_scan(sum, &total);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int32_t own = v[i];
        v[i] = before;
        before += own;
    }
    if (first + ITEMS <= n) {
#pragma unroll
        for (int i = 0; i < ITEMS; i += 4)
            *(int4 *)(y + first + i) = make_int4(v[i], v[i + 1], v[i + 2], v[i + 3]);
        return;
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (first + i < n) y[first + i] = v[i];
}

extern "C" void prefix_scan(const int32_t *x, int32_t *y, void *scratch, int64_t n,
                            cudaStream_t stream)
{
    const int64_t tiles = (n + TILE - 1) / TILE;
    int32_t *sums = (int32_t *)scratch;
    tile_sums<<<(unsigned)tiles, THREADS, 0, stream>>>(x, sums, n);
    scan_sums<<<1, THREADS, 0, stream>>>(sums, tiles);
    scan_tiles<<<(unsigned)tiles, THREADS, 0, stream>>>(x, y, sums, n);
}
