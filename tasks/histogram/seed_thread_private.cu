/* Histogram with private counters a thread: each thread walks KEYS consecutive keys and counts them in WAYS tables of its own in
 * turn (so that equal neighbours do not wait for each other's increment), without any atomic or barrier, and adds what it found to
 * the output at the end. Suits CPUs, where a thread's tables stay in the first-level cache. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune KEYS 1024 4096 16384 65536 262144
// kforge: tune WAYS 1 2 4 8
// kforge: tune THREADS 1 2 32
#ifndef KEYS
#define KEYS 4096
#endif
#ifndef WAYS
#define WAYS 4
#endif
#ifndef THREADS
#define THREADS 32
#endif

__global__ void histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n)
{
    int32_t local[WAYS][256];
    for (int w = 0; w < WAYS; w++)
        for (int b = 0; b < 256; b++) local[w][b] = 0;
    int64_t begin = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * KEYS;
    int64_t end = begin + KEYS < n ? begin + KEYS : n;
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
        uint64_t word = *(const uint64_t *)(keys + i);
#pragma unroll
        for (int k = 0; k < 8; k++) local[k % WAYS][word >> (8 * k) & 255]++;
    }
    for (; i < end; i++) local[0][keys[i]]++;
    for (int b = 0; b < 256; b++) {
        int32_t sum = 0;
        for (int w = 0; w < WAYS; w++) sum += local[w][b];
        if (sum) atomicAdd(&counts[b], sum);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    const int64_t span = (int64_t)THREADS * KEYS;
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    histogram_kernel<<<(unsigned)((n + span - 1) / span), THREADS, 0, stream>>>(keys, counts, n);
}
