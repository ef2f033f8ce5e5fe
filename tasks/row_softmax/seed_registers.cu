/* Softmax that reads each element once: a group of T threads holds a whole row in registers, VECTORS 16-byte vectors a thread, so
 * maximum, sum and quotients need no second read. T is chosen per shape from 1 warp's fraction to 1024, the smallest that holds
 * the row. Groups up to a warp need only shuffles; larger ones one barrier for the maximum and one for the sum.
 *
 * Rows that do not fit in registers, or are not a multiple of 4 long, are cut in chunks: one kernel leaves each chunk's maximum
 * and sum of exponentials (online softmax: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), a second
 * combines them and writes the quotients, so that a few wide rows fill the device, too. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune VECTORS 1 2 4 8
// kforge: tune MIN_THREADS 64 128 256 512
// kforge: tune CHUNK 4096 8192 16384 32768
// kforge: flags | --use_fast_math
#ifndef VECTORS
#define VECTORS 4
#endif
/* Threads a block at least: small groups share a block. */
#ifndef MIN_THREADS
#define MIN_THREADS 128
#endif
#ifndef CHUNK
#define CHUNK 8192
#endif
#define CHUNK_THREADS 256
#define MAX_CHUNKS 32768 /* chunks of one launch */

/* Maximum or sum over the T threads of a group, in all of them. `shared` has a slot a warp and is used once. */
template <int T, bool MAXIMUM> __device__ __forceinline__ float group_reduce(float value, float *shared)
{
#pragma unroll
    for (int offset = (T < 32 ? T : 32) / 2; offset > 0; offset /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, value, offset);
        value = MAXIMUM ? fmaxf(value, other) : value + other;
    }
    if (T > 32) {
        if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
        __syncthreads();
        int first = threadIdx.x / T * (T / 32);
        value = shared[first];
#pragma unroll
        for (int k = 1; k < T / 32; k++) value = MAXIMUM ? fmaxf(value, shared[first + k]) : value + shared[first + k];
    }
    return value;
}

template <int T> struct group {
    enum { THREADS = T > MIN_THREADS ? T : MIN_THREADS, ROWS = THREADS / T };
};

template <int T>
__global__ void __launch_bounds__(group<T>::THREADS)
    softmax_registers(const float4 *__restrict__ x, float4 *__restrict__ y, int64_t rows, int count)
{
    __shared__ float shared[2][32];
    int64_t row = (int64_t)blockIdx.x * group<T>::ROWS + threadIdx.x / T;
    int lane = threadIdx.x % T;
    bool used = row < rows; /* idle threads of the last block still take part in shuffles */
    const float4 *from = x + (used ? row : 0) * count;

    float4 v[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        int j = lane + k * T;
        v[k] = j < count ? from[j] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    }
    float largest = -INFINITY;
#pragma unroll
    for (int k = 0; k < VECTORS; k++) largest = fmaxf(largest, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    largest = group_reduce<T, true>(largest, shared[0]);

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        v[k] = make_float4(expf(v[k].x - largest), expf(v[k].y - largest), expf(v[k].z - largest), expf(v[k].w - largest));
        sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    float scale = 1.0f / group_reduce<T, false>(sum, shared[1]);
    if (!used) return;
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        int j = lane + k * T;
        if (j < count) y[row * count + j] = make_float4(v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale);
    }
}

/* Of each chunk: its maximum and the sum of exp(x - maximum). */
static __device__ float2 chunk_statistics[MAX_CHUNKS];

/* Joins two (maximum, sum) pairs. A maximum of -inf comes with a sum of 0. */
__device__ __forceinline__ float2 join(float2 a, float2 b)
{
    float largest = fmaxf(a.x, b.x);
    if (largest == -INFINITY) return make_float2(largest, 0.0f);
    return make_float2(largest, a.y * expf(a.x - largest) + b.y * expf(b.x - largest));
}

__global__ void __launch_bounds__(CHUNK_THREADS) chunk_reduce(const float *__restrict__ x, int64_t cols, int chunks, int64_t chunk)
{
    __shared__ float shared[2][32];
    int64_t row = blockIdx.x / chunks, begin = blockIdx.x % chunks * chunk;
    int64_t end = begin + chunk < cols ? begin + chunk : cols;
    const float *from = x + row * cols;
    float largest = -INFINITY, sum = 0.0f;
#pragma unroll 4
    for (int64_t j = begin + threadIdx.x; j < end; j += CHUNK_THREADS) largest = fmaxf(largest, from[j]);
    largest = group_reduce<CHUNK_THREADS, true>(largest, shared[0]);
#pragma unroll 4
    /* from cache: the chunk was just read */
    for (int64_t j = begin + threadIdx.x; j < end; j += CHUNK_THREADS)
        sum += expf(from[j] - largest);
    sum = group_reduce<CHUNK_THREADS, false>(sum, shared[1]);
    if (threadIdx.x == 0) chunk_statistics[blockIdx.x] = make_float2(largest, sum);
}

__global__ void __launch_bounds__(CHUNK_THREADS)
    chunk_write(const float *__restrict__ x, float *__restrict__ y, int64_t cols, int chunks, int64_t chunk)
{
    int64_t row = blockIdx.x / chunks, begin = blockIdx.x % chunks * chunk;
    int64_t end = begin + chunk < cols ? begin + chunk : cols;
    float2 total = make_float2(-INFINITY, 0.0f);
    for (int k = 0; k < chunks; k++) total = join(total, chunk_statistics[row * chunks + k]);
    float scale = 1.0f / total.y;
#pragma unroll 4
    for (int64_t j = begin + threadIdx.x; j < end; j += CHUNK_THREADS)
        y[row * cols + j] = expf(x[row * cols + j] - total.x) * scale;
}

template <int T> static void launch(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    int64_t blocks = (rows + group<T>::ROWS - 1) / group<T>::ROWS;
    softmax_registers<T><<<(unsigned)blocks, group<T>::THREADS, 0, stream>>>((const float4 *)x, (float4 *)y, rows, (int)(cols / 4));
}

extern "C" void row_softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    const int held = 4 * VECTORS; /* floats a thread */
    if (cols % 4 == 0 && cols <= 1024 * held) {
        if (cols <= 8 * held)
            launch<8>(x, y, rows, cols, stream);
        else if (cols <= 32 * held)
            launch<32>(x, y, rows, cols, stream);
        else if (cols <= 128 * held)
            launch<128>(x, y, rows, cols, stream);
        else if (cols <= 256 * held)
            launch<256>(x, y, rows, cols, stream);
        else if (cols <= 512 * held)
            launch<512>(x, y, rows, cols, stream);
        else
            launch<1024>(x, y, rows, cols, stream);
        return;
    }
    int64_t chunk = CHUNK > cols / MAX_CHUNKS + 1 ? CHUNK : cols / MAX_CHUNKS + 1;
    int chunks = (int)((cols + chunk - 1) / chunk);
    int64_t slab = MAX_CHUNKS / chunks; /* rows a launch */
    for (int64_t first = 0; first < rows; first += slab) {
        unsigned blocks = (unsigned)(rows - first < slab ? rows - first : slab) * chunks;
        chunk_reduce<<<blocks, CHUNK_THREADS, 0, stream>>>(x + first * cols, cols, chunks, chunk);
        chunk_write<<<blocks, CHUNK_THREADS, 0, stream>>>(x + first * cols, y + first * cols, cols, chunks, chunk);
    }
}
