#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_SIZE 128 256 512 1024
// kforge: tune BLOCKS_PER_SM 1 2 3 4 6
// kforge: tune VECS_PER_THREAD 1 2 4 8
// kforge: tune OPAQUE_INCREMENT 0 1
// kforge: require BLOCK_SIZE * BLOCKS_PER_SM <= 2048
// kforge: require BLOCK_SIZE * BLOCKS_PER_SM >= 512
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 512
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 3
#endif
#ifndef VECS_PER_THREAD
#define VECS_PER_THREAD 4
#endif
#ifndef OPAQUE_INCREMENT
#define OPAQUE_INCREMENT 0
#endif

namespace {

constexpr int kBins = 256;
constexpr int kLanes = 32;

__device__ __forceinline__ void add_at(unsigned *table, unsigned byte_offset, unsigned value)
{
    atomicAdd(reinterpret_cast<unsigned *>(reinterpret_cast<char *>(table) + byte_offset), value);
}

__device__ __forceinline__ void count_one(unsigned *table, unsigned byte_offset, unsigned one)
{
#if OPAQUE_INCREMENT
    add_at(table, byte_offset, one);
#else
    (void)one;
    add_at(table, byte_offset, 1u);
#endif
}

/* The row of a bin is 32 words = 128 bytes: offset = bin * 128 + lane * 4. */
__device__ __forceinline__ void count_word(unsigned *table, unsigned w, unsigned lane4, unsigned one)
{
    count_one(table, ((w << 7) & 0x7f80u) | lane4, one);
    count_one(table, ((w >> 1) & 0x7f80u) | lane4, one);
    count_one(table, ((w >> 9) & 0x7f80u) | lane4, one);
    count_one(table, ((w >> 17) & 0x7f80u) | lane4, one);
}

__device__ __forceinline__ void count_vec(unsigned *table, const uint4 &v, unsigned lane4, unsigned one)
{
    const unsigned first = __byte_perm(v.x, 0u, 0x0000);
    const unsigned differ = (v.x ^ first) | (v.y ^ first) | (v.z ^ first) | (v.w ^ first);
    if (differ == 0u) {
        add_at(table, ((v.x << 7) & 0x7f80u) | lane4, 16u);
    } else {
        count_word(table, v.x, lane4, one);
        count_word(table, v.y, lane4, one);
        count_word(table, v.z, lane4, one);
        count_word(table, v.w, lane4, one);
    }
}

__global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, int64_t head,
                 int64_t vec_count, unsigned one)
{
    __shared__ __align__(128) unsigned table[kBins * kLanes];
    __shared__ unsigned totals[kBins];

    const unsigned tid = threadIdx.x;
    const unsigned lane = tid & 31u;
    const unsigned lane4 = lane * 4u;

    {
        uint4 *clear = reinterpret_cast<uint4 *>(table);
        for (int i = (int)tid; i < kBins * kLanes / 4; i += BLOCK_SIZE) clear[i] = make_uint4(0u, 0u, 0u, 0u);
    }
    __syncthreads();

    const uint4 *__restrict__ vecs = reinterpret_cast<const uint4 *>(keys + head);
    constexpr int unrolled = VECS_PER_THREAD;
    constexpr int64_t tile = (int64_t)BLOCK_SIZE * VECS_PER_THREAD;
    const int64_t step = (int64_t)gridDim.x * tile;

    for (int64_t base = (int64_t)blockIdx.x * tile; base < vec_count; base += step) {
        if (base + tile <= vec_count) {
            const uint4 *p = vecs + base + tid;
            uint4 v[VECS_PER_THREAD];
#pragma unroll unrolled
            for (int k = 0; k < unrolled; ++k) v[k] = __ldcs(p + k * BLOCK_SIZE);
#pragma unroll unrolled
            for (int k = 0; k < unrolled; ++k) count_vec(table, v[k], lane4, one);
        } else {
            for (int64_t i = base + tid; i < vec_count; i += BLOCK_SIZE) {
                const uint4 v = __ldcs(vecs + i);
                count_vec(table, v, lane4, one);
            }
        }
    }

    /* Keys before the first and after the last aligned 16 bytes: at most 15 each. */
    if (blockIdx.x == gridDim.x - 1) {
        if ((int64_t)tid < head) add_at(table, ((unsigned)keys[tid] << 7) | lane4, 1u);
        const int64_t i = head + vec_count * 16 + tid;
        if (i < n) add_at(table, ((unsigned)keys[i] << 7) | lane4, 1u);
    }
    __syncthreads();

    for (int bin = (int)(tid >> 5); bin < kBins; bin += BLOCK_SIZE / 32) {
        const unsigned sum = __reduce_add_sync(0xffffffffu, table[bin * kLanes + lane]);
        if (lane == 0) totals[bin] = sum;
    }
    __syncthreads();
    for (int bin = (int)tid; bin < kBins; bin += BLOCK_SIZE) {
        const unsigned sum = totals[bin];
        if (sum != 0u) atomicAdd(&counts[bin], (int32_t)sum);
    }
}

}  // namespace

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, kBins * sizeof(int32_t), stream);
    if (n <= 0) return;

    int device = 0;
    int sms = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (sms < 1) sms = 1;
    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                         (int)cudaSharedmemCarveoutMaxShared);

    int64_t head = (int64_t)((16u - (unsigned)(reinterpret_cast<uintptr_t>(keys) & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t vec_count = (n - head) / 16;

    const int64_t tile = (int64_t)BLOCK_SIZE * VECS_PER_THREAD;
    int64_t blocks = (vec_count + tile - 1) / tile;
    const int64_t most = (int64_t)sms * BLOCKS_PER_SM;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;

    histogram_kernel<<<(unsigned)blocks, BLOCK_SIZE, 0, stream>>>(keys, counts, n, head, vec_count, 1u);
}
