/* Row sums in two stages. A block adds CHUNK elements of one row with 16-byte loads, UNROLL of them in flight a thread: short sums
 * in float, their total in double (so that neither length nor cancellation costs accuracy), then warp shuffles and one barrier. A
 * second kernel adds the blocks' sums, one block a row. Rows that are not a multiple of 4 long are read float by float. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 128 256 512 1024
// kforge: tune UNROLL 1 2 4 8
// kforge: tune CHUNK 8192 16384 32768 65536 131072 262144
// kforge: require THREADS * UNROLL * 4 <= CHUNK
#ifndef THREADS
#define THREADS 256
#endif
#ifndef UNROLL
#define UNROLL 4
#endif
#ifndef CHUNK
#define CHUNK 65536
#endif
#define MAX_PARTIALS (1 << 18) /* blocks of one launch */

static __device__ double partials[MAX_PARTIALS];

/* The sum over all threads of the block, valid in thread 0. */
__device__ __forceinline__ double block_sum(double value)
{
    __shared__ double warps[THREADS / 32];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 1; k < THREADS / 32; k++) value += warps[k];
    return value;
}

/* Block b of the launch: chunk b % chunks of row b / chunks. */
template <bool VECTORS>
__global__ void __launch_bounds__(THREADS) sum_chunks(const float *__restrict__ x, int64_t cols, int chunks, int64_t chunk)
{
    int64_t row = blockIdx.x / chunks, begin = (blockIdx.x % chunks) * chunk;
    const float *from = x + row * cols + begin;
    int64_t count = cols - begin < chunk ? cols - begin : chunk;
    double sum = 0;
    if (VECTORS) {
        const float4 *v = (const float4 *)from;
        int64_t j = threadIdx.x;
        count /= 4;
        for (; j + (UNROLL - 1) * THREADS < count; j += UNROLL * THREADS) {
            float4 a[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) a[k] = v[j + k * THREADS];
            float part = 0.0f;
#pragma unroll
            for (int k = 0; k < UNROLL; k++) part += (a[k].x + a[k].y) + (a[k].z + a[k].w);
            sum += part;
        }
        for (; j < count; j += THREADS) sum += (v[j].x + v[j].y) + (v[j].z + v[j].w);
    } else {
        for (int64_t j = threadIdx.x; j < count; j += THREADS) sum += from[j];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) sum_partials(float *y, int chunks)
{
    double sum = 0;
    for (int k = threadIdx.x; k < chunks; k += THREADS) sum += partials[(int64_t)blockIdx.x * chunks + k];
    sum = block_sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = (float)sum;
}

extern "C" void reduction(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    int64_t chunk = CHUNK;
    while (cols / chunk >= MAX_PARTIALS) chunk *= 2;
    int chunks = (int)((cols + chunk - 1) / chunk);
    int64_t slab = MAX_PARTIALS / chunks; /* rows a launch */
    for (int64_t first = 0; first < rows; first += slab) {
        unsigned count = (unsigned)(rows - first < slab ? rows - first : slab);
        if (cols % 4 == 0)
            sum_chunks<true><<<count * chunks, THREADS, 0, stream>>>(x + first * cols, cols, chunks, chunk);
        else
            sum_chunks<false><<<count * chunks, THREADS, 0, stream>>>(x + first * cols, cols, chunks, chunk);
        sum_partials<<<count, THREADS, 0, stream>>>(y + first, chunks);
    }
}
