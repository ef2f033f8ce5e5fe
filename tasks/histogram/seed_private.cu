/* Histogram with COPIES private histograms a block in shared memory, so that threads of different warps rarely meet at one
 * counter, and 16 keys a load. With RUNS 1 a thread counts equal neighbours among its keys once, which pays for skewed and sorted
 * keys. Copies are interleaved with one word of padding between bins, so that the same bin of different copies lies in different
 * banks. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 128 256 512 1024
// kforge: tune COPIES 1 2 4 8 16 32
// kforge: tune LOADS 1 2 4 8
// kforge: tune ROUNDS 1 2 4 8 16
// kforge: tune RUNS 0 1
#ifndef THREADS
#define THREADS 512
#endif
/* private histograms a block */
#ifndef COPIES
#define COPIES 2
#endif
/* 16-byte loads in flight a thread */
#ifndef LOADS
#define LOADS 4
#endif
/* times that a block fetches THREADS * LOADS vectors */
#ifndef ROUNDS
#define ROUNDS 16
#endif
#ifndef RUNS
#define RUNS 0
#endif
#define CHUNK ((int64_t)THREADS * LOADS * ROUNDS * 16) /* keys a block */

__device__ __forceinline__ void count_word(int32_t *local, uint32_t word, uint32_t &last, int32_t &run)
{
#pragma unroll
    for (int b = 0; b < 4; b++) {
        uint32_t key = word >> (8 * b) & 255;
#if RUNS
        if (key != last) {
            atomicAdd(&local[last * (COPIES + 1)], run);
            last = key;
            run = 0;
        }
        run++;
#else
        atomicAdd(&local[key * (COPIES + 1)], 1);
#endif
    }
}

__global__ void __launch_bounds__(THREADS)
    histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n)
{
    __shared__ int32_t copies[256 * (COPIES + 1)];
    for (int b = threadIdx.x; b < 256 * (COPIES + 1); b += THREADS) copies[b] = 0;
    __syncthreads();
    int32_t *local = copies + threadIdx.x % COPIES;
    int64_t begin = (int64_t)blockIdx.x * CHUNK;
    if (begin + CHUNK <= n) {
        const uint4 *from = (const uint4 *)(keys + begin) + threadIdx.x;
        uint32_t last = 0;
        int32_t run = 0;
        for (int round = 0; round < ROUNDS; round++) {
            uint4 v[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; k++) v[k] = from[(round * LOADS + k) * THREADS];
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                count_word(local, v[k].x, last, run);
                count_word(local, v[k].y, last, run);
                count_word(local, v[k].z, last, run);
                count_word(local, v[k].w, last, run);
            }
        }
#if RUNS
        atomicAdd(&local[last * (COPIES + 1)], run);
#endif
    } else { /* the last block */
        for (int64_t i = begin + threadIdx.x; i < n; i += THREADS) atomicAdd(&local[keys[i] * (COPIES + 1)], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += THREADS) {
        int32_t sum = 0;
        for (int k = 0; k < COPIES; k++) sum += copies[b * (COPIES + 1) + k];
        if (sum) atomicAdd(&counts[b], sum);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    histogram_kernel<<<(unsigned)((n + CHUNK - 1) / CHUNK), THREADS, 0, stream>>>(keys, counts, n);
}
