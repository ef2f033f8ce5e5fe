/* The k largest of a row in two stages: blocks take CHUNK columns each into shared memory and leave
 * the k largest of these, one block a row then chooses among what they left. In a block each thread
 * keeps the best element of its own; after each round only the chosen one's thread searches again.
 * Chunks, and what is chosen from them, are in the order of columns, so that the lower place wins
 * among equal elements in both stages. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune THREADS 32 64 128 256 512
// kforge: tune CHUNK 1024 2048 4096 8192
#ifndef THREADS
#define THREADS 128
#endif
#ifndef CHUNK
#define CHUNK 4096
#endif
#define WARPS (THREADS / 32)

struct choice {
    float value;
    int place;
};

__device__ __forceinline__ choice better(choice a, choice b)
{
    return b.value > a.value || (b.value == a.value && b.place < a.place) ? b : a;
}

__device__ __forceinline__ choice search(const float *v, int count)
{
    choice best = {-INFINITY, INT32_MAX};
    for (int j = threadIdx.x; j < count; j += THREADS) best = better(best, choice{v[j], j});
    return best;
}

/* Returns the best of the block to all of its threads. */
__device__ __forceinline__ choice block_best(choice own)
{
    __shared__ choice warp_best[WARPS];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        own = better(own, choice{__shfl_xor_sync(0xffffffffu, own.value, offset),
                                 __shfl_xor_sync(0xffffffffu, own.place, offset)});
    if (WARPS == 1) return own;
    if (threadIdx.x % 32 == 0) warp_best[threadIdx.x / 32] = own;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) own = better(own, warp_best[w]);
    __syncthreads();
    return own;
}

/* What the blocks leave: `k` (value, column) pairs a chunk. */
__global__ void __launch_bounds__(THREADS)
    choose_in_chunks(const float *__restrict__ x, float *__restrict__ left_values,
                     int32_t *__restrict__ left_columns, int64_t cols, int k, int chunks)
{
    __shared__ float v[CHUNK];
    const int64_t row = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const int64_t first = chunk * CHUNK;
    const int count = (int)(cols - first < CHUNK ? cols - first : CHUNK);
    const int64_t to = (int64_t)blockIdx.x * k;
    for (int j = threadIdx.x; j < count; j += THREADS) v[j] = x[row * cols + first + j];
    __syncthreads();
    choice own = search(v, count);
    for (int r = 0; r < k; r++) {
        const choice best = block_best(own);
        if (threadIdx.x == 0) {
            left_values[to + r] = best.value;
            left_columns[to + r] = best.place < count ? (int32_t)(first + best.place) : 0;
        }
        if (best.place < count && best.place == own.place) {
            v[best.place] = -INFINITY;
            own = search(v, count);
        }
    }
}

__global__ void __launch_bounds__(THREADS)
    choose_among_left(float *left_values, const int32_t *__restrict__ left_columns,
                      float *__restrict__ values, int32_t *__restrict__ indices, int k, int chunks)
{
    const int count = chunks * k;
    float *v = left_values + (int64_t)blockIdx.x * count;
    const int32_t *columns = left_columns + (int64_t)blockIdx.x * count;
    choice own = search(v, count);
    for (int r = 0; r < k; r++) {
        const choice best = block_best(own);
        if (best.place == own.place) {
            values[(int64_t)blockIdx.x * k + r] = best.value;
            indices[(int64_t)blockIdx.x * k + r] = columns[best.place];
            v[best.place] = -INFINITY;
            own = search(v, count);
        }
    }
}

extern "C" void top_k(const float *x, float *values, int32_t *indices, void *scratch, int64_t rows,
                      int64_t cols, int64_t k, cudaStream_t stream)
{
    const int chunks = (int)((cols + CHUNK - 1) / CHUNK);
    float *left_values = (float *)scratch;
    int32_t *left_columns = (int32_t *)(left_values + rows * chunks * k);
    choose_in_chunks<<<(unsigned)(rows * chunks), THREADS, 0, stream>>>(
        x, left_values, left_columns, cols, (int)k, chunks);
    choose_among_left<<<(unsigned)rows, THREADS, 0, stream>>>(left_values, left_columns, values,
                                                              indices, (int)k, chunks);
}
