#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune HIST_BLOCK 256 512 1024
// kforge: tune HIST_BLOCKS_PER_SM 1 2 3 4 6
// kforge: tune HIST_LOADS 1 2 4
// kforge: tune HIST_OPAQUE_ONE 0 1
// kforge: require HIST_BLOCK * HIST_BLOCKS_PER_SM <= 2048
#ifndef HIST_BLOCK
#define HIST_BLOCK 512
#endif
#ifndef HIST_BLOCKS_PER_SM
#define HIST_BLOCKS_PER_SM 3
#endif
#ifndef HIST_LOADS
#define HIST_LOADS 2
#endif
/* 1: the increment is a kernel argument (plain shared add), 0: the constant 1 (the compiler may use its increment form) */
#ifndef HIST_OPAQUE_ONE
#define HIST_OPAQUE_ONE 0
#endif

/* table is [256 bins][32 lanes]: a bin's row is 128 bytes, a lane stays in its bank */
__device__ __forceinline__ void count_key(unsigned lane_base, unsigned key, unsigned one)
{
    unsigned address = lane_base + key * 128u;
#if HIST_OPAQUE_ONE
    asm volatile("red.shared.add.u32 [%0], %1;" :: "r"(address), "r"(one) : "memory");
#else
    (void)one;
    asm volatile("red.shared.add.u32 [%0], 1;" :: "r"(address) : "memory");
#endif
}

__device__ __forceinline__ void count_word(unsigned lane_base, unsigned word, unsigned one)
{
    count_key(lane_base, __byte_perm(word, 0u, 0x4440), one);
    count_key(lane_base, __byte_perm(word, 0u, 0x4441), one);
    count_key(lane_base, __byte_perm(word, 0u, 0x4442), one);
    count_key(lane_base, __byte_perm(word, 0u, 0x4443), one);
}

__device__ __forceinline__ void count_vector(unsigned lane_base, const uint4 &v, unsigned one)
{
    count_word(lane_base, v.x, one);
    count_word(lane_base, v.y, one);
    count_word(lane_base, v.z, one);
    count_word(lane_base, v.w, one);
}

__global__ void __launch_bounds__(HIST_BLOCK, HIST_BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, int64_t head, int64_t vectors, unsigned one)
{
    constexpr int loads = HIST_LOADS;
    constexpr int tile = HIST_BLOCK * HIST_LOADS;
    __shared__ __align__(128) unsigned table[256 * 32];

    const int tid = (int)threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const unsigned lane_base = (unsigned)__cvta_generic_to_shared(table) + (unsigned)lane * 4u;

    const uint4 *source = reinterpret_cast<const uint4 *>(keys + head);
    const int64_t full_tiles = vectors / tile;
    const int64_t grid = (int64_t)gridDim.x;

    uint4 current[loads];
    int64_t t = (int64_t)blockIdx.x;
    /* the first loads are on their way while the table is cleared */
    if (t < full_tiles) {
        const uint4 *p = source + t * tile + tid;
#pragma unroll loads
        for (int j = 0; j < loads; ++j) current[j] = __ldcs(p + j * HIST_BLOCK);
    }

    for (int i = tid; i < 256 * 32 / 4; i += HIST_BLOCK) reinterpret_cast<uint4 *>(table)[i] = make_uint4(0u, 0u, 0u, 0u);
    __syncthreads();

    while (t < full_tiles) {
        const int64_t following = t + grid;
        uint4 next[loads];
#pragma unroll loads
        for (int j = 0; j < loads; ++j) next[j] = make_uint4(0u, 0u, 0u, 0u);
        if (following < full_tiles) {
            const uint4 *p = source + following * tile + tid;
#pragma unroll loads
            for (int j = 0; j < loads; ++j) next[j] = __ldcs(p + j * HIST_BLOCK);
        }
#pragma unroll loads
        for (int j = 0; j < loads; ++j) count_vector(lane_base, current[j], one);
#pragma unroll loads
        for (int j = 0; j < loads; ++j) current[j] = next[j];
        t = following;
    }

    /* the vectors that do not fill a tile */
    if ((int64_t)blockIdx.x == full_tiles % grid) {
        for (int64_t i = full_tiles * tile + tid; i < vectors; i += HIST_BLOCK) {
            uint4 v = __ldcs(source + i);
            count_vector(lane_base, v, one);
        }
    }
    /* the bytes before the first and after the last aligned vector */
    if (blockIdx.x == gridDim.x - 1) {
        for (int64_t i = tid; i < head; i += HIST_BLOCK) count_key(lane_base, (unsigned)keys[i], one);
        for (int64_t i = head + vectors * 16 + tid; i < n; i += HIST_BLOCK) count_key(lane_base, (unsigned)keys[i], one);
    }
    __syncthreads();

    /* a warp sums a bin's 32 copies; the sums then go out coalesced */
    for (int bin = warp; bin < 256; bin += HIST_BLOCK / 32) {
        unsigned sum = __reduce_add_sync(0xffffffffu, table[bin * 32 + lane]);
        __syncwarp();
        if (lane == 0) table[bin * 32] = sum;
    }
    __syncthreads();
    for (int bin = tid; bin < 256; bin += HIST_BLOCK) {
        unsigned sum = table[bin * 32];
        if (sum != 0u) atomicAdd(&counts[bin], (int32_t)sum);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    if (n <= 0) return;

    int device = 0, multiprocessors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (multiprocessors < 1) multiprocessors = 1;

    int64_t head = (int64_t)((16u - (unsigned)((uintptr_t)keys & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t vectors = (n - head) / 16;
    const int64_t tile = (int64_t)HIST_BLOCK * HIST_LOADS;
    int64_t blocks = (vectors + tile - 1) / tile;
    const int64_t most = (int64_t)multiprocessors * HIST_BLOCKS_PER_SM;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;

    histogram_kernel<<<(unsigned)blocks, HIST_BLOCK, 0, stream>>>(keys, counts, n, head, vectors, 1u);
}
