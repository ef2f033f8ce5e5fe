/* Radix sort with a chunk of CHUNK consecutive pairs and counters of its own a thread, without
 * barriers, BITS bits a pass. Suits CPUs, where the counters stay in the first-level cache. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BITS 4 8
// kforge: tune CHUNK 1024 4096 16384
// kforge: tune THREADS 1 2 32
#ifndef BITS
#define BITS 8
#endif
/* pairs a thread */
#ifndef CHUNK
#define CHUNK 4096
#endif
#ifndef THREADS
#define THREADS 1
#endif
#define DIGITS (1 << BITS)

__device__ __forceinline__ int digit_of(int32_t key, int shift)
{
    return (int)((((uint32_t)key ^ 0x80000000u) >> shift) & (DIGITS - 1));
}

__global__ void count_digits(const int32_t *__restrict__ keys, int32_t *__restrict__ counts,
                             int64_t n, int64_t chunks, int shift)
{
    const int64_t chunk = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= chunks) return;
    const int64_t end = (chunk + 1) * CHUNK < n ? (chunk + 1) * CHUNK : n;
    int32_t own[DIGITS];
    for (int d = 0; d < DIGITS; d++) own[d] = 0;
    for (int64_t i = chunk * CHUNK; i < end; i++) own[digit_of(keys[i], shift)]++;
    for (int d = 0; d < DIGITS; d++) counts[d * chunks + chunk] = own[d];
}

/* Turns counts into places in the output. One block, a thread a digit. */
__global__ void scan_counts(int32_t *counts, int64_t chunks)
{
    __shared__ int32_t totals[DIGITS];
    int32_t *row = counts + threadIdx.x * chunks, sum = 0;
    for (int64_t c = 0; c < chunks; c++) sum += row[c];
    totals[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int d = 0; d < (int)threadIdx.x; d++) sum += totals[d];
    for (int64_t c = 0; c < chunks; c++) {
        const int32_t own = row[c];
        row[c] = sum;
        sum += own;
    }
}

__global__ void scatter(const int32_t *__restrict__ keys, const int32_t *__restrict__ values,
                        int32_t *__restrict__ to_keys, int32_t *__restrict__ to_values,
                        const int32_t *__restrict__ counts, int64_t n, int64_t chunks, int shift)
{
    const int64_t chunk = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= chunks) return;
    const int64_t end = (chunk + 1) * CHUNK < n ? (chunk + 1) * CHUNK : n;
    int32_t place[DIGITS];
    for (int d = 0; d < DIGITS; d++) place[d] = counts[d * chunks + chunk];
    for (int64_t i = chunk * CHUNK; i < end; i++) {
        const int32_t to = place[digit_of(keys[i], shift)]++;
        to_keys[to] = keys[i];
        to_values[to] = values[i];
    }
}

extern "C" void radix_sort(const int32_t *keys, const int32_t *values, int32_t *sorted_keys,
                           int32_t *sorted_values, void *scratch, int64_t n, cudaStream_t stream)
{
    const int64_t chunks = (n + CHUNK - 1) / CHUNK;
    const unsigned blocks = (unsigned)((chunks + THREADS - 1) / THREADS);
    int32_t *other_keys = (int32_t *)scratch, *other_values = other_keys + n;
    int32_t *counts = other_values + n;
    for (int shift = 0; shift < 32; shift += BITS) {
        const bool even = shift / BITS % 2 == 0;
        const int32_t *from_keys = shift == 0 ? keys : even ? sorted_keys : other_keys;
        const int32_t *from_values = shift == 0 ? values : even ? sorted_values : other_values;
        count_digits<<<blocks, THREADS, 0, stream>>>(from_keys, counts, n, chunks, shift);
        scan_counts<<<1, DIGITS, 0, stream>>>(counts, chunks);
        scatter<<<blocks, THREADS, 0, stream>>>(
            from_keys, from_values, even ? other_keys : sorted_keys,
            even ? other_values : sorted_values, counts, n, chunks, shift);
    }
}
