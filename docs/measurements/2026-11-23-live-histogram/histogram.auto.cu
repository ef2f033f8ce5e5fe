/* Histogram of bytes. Persistent blocks; each has a shared table of COPY_LANES columns a bin, and a lane counts in its own column, so that
 * with 32 columns lane l only uses bank l: no bank conflicts, no equal addresses within a warp. Keys come 16 at a time a thread, one round
 * ahead of their use. The columns are summed and added to the output once a block. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_THREADS 256 512 1024
// kforge: tune BLOCKS_PER_SM 1 2 3 4 6
// kforge: tune VECS_AHEAD 1 2 4
// kforge: tune COPY_LANES 8 16 32
// kforge: tune OPAQUE_ONE 0 1
// kforge: tune UNIFORM_PATH 0 1
// kforge: require BLOCK_THREADS * BLOCKS_PER_SM <= 2048
// kforge: require COPY_LANES * BLOCKS_PER_SM <= 192
#ifndef BLOCK_THREADS
#define BLOCK_THREADS 1024
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 2
#endif
#ifndef VECS_AHEAD
#define VECS_AHEAD 2
#endif
#ifndef COPY_LANES
#define COPY_LANES 32
#endif
#ifndef OPAQUE_ONE
#define OPAQUE_ONE 0
#endif
#ifndef UNIFORM_PATH
#define UNIFORM_PATH 1
#endif

namespace {

constexpr int kThreads = BLOCK_THREADS;
constexpr int kVecs = VECS_AHEAD;
constexpr int kCopies = COPY_LANES;
constexpr int kShift = kCopies == 32 ? 7 : kCopies == 16 ? 6 : kCopies == 8 ? 5 : kCopies == 4 ? 4 : kCopies == 2 ? 3 : 2;
static_assert((4 << (kShift - 2)) == 4 * kCopies, "COPY_LANES must be a power of two up to 32");

__device__ __forceinline__ void bump(unsigned *table, unsigned offset, unsigned amount)
{
    atomicAdd(reinterpret_cast<unsigned *>(reinterpret_cast<char *>(table) + offset), amount);
}

__device__ __forceinline__ void count_one(unsigned *table, unsigned offset, unsigned one)
{
#if OPAQUE_ONE
    bump(table, offset, one);
#else
    (void)one;
    bump(table, offset, 1u);
#endif
}

__device__ __forceinline__ void count_word(unsigned *table, unsigned word, unsigned column, unsigned one)
{
    constexpr unsigned mask = 255u << kShift;
    /* kShift is 2 to 7, so byte 0 moves left and the others move right. */
    count_one(table, ((word << kShift) & mask) | column, one);
    count_one(table, ((word >> (8 - kShift)) & mask) | column, one);
    count_one(table, ((word >> (16 - kShift)) & mask) | column, one);
    count_one(table, ((word >> (24 - kShift)) & mask) | column, one);
}

__device__ __forceinline__ void count_vec(unsigned *table, const uint4 &v, unsigned column, unsigned one)
{
#if UNIFORM_PATH
    unsigned first = __byte_perm(v.x, 0u, 0x0000);
    unsigned differ = (v.x ^ first) | (v.y ^ first) | (v.z ^ first) | (v.w ^ first);
    if (differ == 0u) {
        bump(table, ((first & 255u) << kShift) | column, 16u);
        return;
    }
#endif
    count_word(table, v.x, column, one);
    count_word(table, v.y, column, one);
    count_word(table, v.z, column, one);
    count_word(table, v.w, column, one);
}

__global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, int head, int64_t vecs, int64_t share,
                 unsigned one)
{
    __shared__ __align__(16) unsigned table[256 * kCopies];
    const int tid = (int)threadIdx.x;

    const uint4 *all = reinterpret_cast<const uint4 *>(keys + head);
    int64_t begin = (int64_t)blockIdx.x * share;
    if (begin > vecs) begin = vecs;
    int64_t rest = vecs - begin;
    const int len = (int)(rest < share ? rest : share);
    const uint4 *p = all + begin + tid;

    constexpr int step = kThreads * kVecs;
    constexpr int unrolled = kVecs;
    const int full = len / step;

    uint4 now[kVecs];
    if (full > 0) {
#pragma unroll unrolled
        for (int u = 0; u < unrolled; u++) now[u] = __ldcs(p + u * kThreads);
    }

    for (int i = tid; i < 256 * kCopies; i += kThreads) table[i] = 0u;
    __syncthreads();

    const unsigned column = ((unsigned)tid & (unsigned)(kCopies - 1)) * 4u;

    if (full > 0) {
#pragma unroll 1
        for (int it = 1; it < full; it++) {
            uint4 next[kVecs];
            p += step;
#pragma unroll unrolled
            for (int u = 0; u < unrolled; u++) next[u] = __ldcs(p + u * kThreads);
#pragma unroll unrolled
            for (int u = 0; u < unrolled; u++) count_vec(table, now[u], column, one);
#pragma unroll unrolled
            for (int u = 0; u < unrolled; u++) now[u] = next[u];
        }
#pragma unroll unrolled
        for (int u = 0; u < unrolled; u++) count_vec(table, now[u], column, one);
        p += step;
    }
#pragma unroll 1
    for (int i = full * step + tid; i < len; i += kThreads) {
        uint4 v = __ldcs(p);
        p += kThreads;
        count_vec(table, v, column, one);
    }

    if (blockIdx.x == 0) { /* the keys before the first and after the last 16-byte boundary */
        if (tid < head) bump(table, ((unsigned)keys[tid] << kShift) | column, 1u);
        int64_t tail = (int64_t)head + vecs * 16 + tid;
        if (tail < n) bump(table, ((unsigned)keys[tail] << kShift) | column, 1u);
    }
    __syncthreads();

    for (int b = tid; b < 256; b += kThreads) {
        unsigned sum = 0u;
#pragma unroll 8
        for (int j = 0; j < kCopies; j++) sum += table[b * kCopies + ((j + b) & (kCopies - 1))];
        if (sum) atomicAdd(&counts[b], (int32_t)sum);
    }
}

} // namespace

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    if (n <= 0) return;

    int device = 0, sms = 0;
    cudaGetDevice(&device);
    if (cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess || sms < 1) sms = 1;

    int64_t head = (int64_t)((16u - (unsigned)((uintptr_t)keys & 15u)) & 15u);
    if (head > n) head = n;
    int64_t vecs = (n - head) / 16; /* what is left after them is less than 16 keys */

    int64_t blocks = (vecs + kThreads - 1) / kThreads;
    if (blocks > (int64_t)sms * BLOCKS_PER_SM) blocks = (int64_t)sms * BLOCKS_PER_SM;
    if (blocks < 1) blocks = 1;
    int64_t share = (vecs + blocks - 1) / blocks;
    share = (share + 7) / 8 * 8; /* whole lines of 128 bytes */

    histogram_kernel<<<(unsigned)blocks, kThreads, 0, stream>>>(keys, counts, n, (int)head, vecs, share, 1u);
}
