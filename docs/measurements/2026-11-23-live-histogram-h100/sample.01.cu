#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune HIST_BLOCK 256 512 1024
// kforge: tune HIST_BLOCKS_PER_SM 1 2 3 4 6
// kforge: tune HIST_VECTORS 1 2 4 8
// kforge: tune HIST_UNIFORM_PATH 0 1
// kforge: require HIST_BLOCK * HIST_BLOCKS_PER_SM <= 2048
// kforge: require HIST_BLOCK * HIST_BLOCKS_PER_SM * HIST_VECTORS <= 8192
#ifndef HIST_BLOCK
#define HIST_BLOCK 512
#endif
#ifndef HIST_BLOCKS_PER_SM
#define HIST_BLOCKS_PER_SM 3
#endif
#ifndef HIST_VECTORS
#define HIST_VECTORS 4
#endif
#ifndef HIST_UNIFORM_PATH
#define HIST_UNIFORM_PATH 1
#endif

/* Counter of bin b for lane l: byte offset b * 128 + l * 4, so the bank is the lane. */
__device__ __forceinline__ void hist_add(uint32_t *hist, uint32_t offset, uint32_t amount)
{
    atomicAdd(reinterpret_cast<uint32_t *>(reinterpret_cast<char *>(hist) + offset), amount);
}

__device__ __forceinline__ void hist_word(uint32_t *hist, uint32_t word, uint32_t lane4)
{
    hist_add(hist, ((word << 7) & 0x7F80u) | lane4, 1u);
    hist_add(hist, ((word >> 1) & 0x7F80u) | lane4, 1u);
    hist_add(hist, ((word >> 9) & 0x7F80u) | lane4, 1u);
    hist_add(hist, ((word >> 17) & 0x7F80u) | lane4, 1u);
}

__device__ __forceinline__ void hist_vector(uint32_t *hist, const uint4 &v, uint32_t lane4)
{
    hist_word(hist, v.x, lane4);
    hist_word(hist, v.y, lane4);
    hist_word(hist, v.z, lane4);
    hist_word(hist, v.w, lane4);
}

__global__ void __launch_bounds__(HIST_BLOCK, HIST_BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, int head, int64_t vectors)
{
    __shared__ __align__(16) uint32_t hist[256 * 32];
    constexpr int unrolled = HIST_VECTORS;
    constexpr int tile = HIST_BLOCK * HIST_VECTORS;
    const int tid = (int)threadIdx.x;
    const int lane = tid & 31;
    const uint32_t lane4 = (uint32_t)lane * 4u;

    uint4 *clear = reinterpret_cast<uint4 *>(hist);
    for (int i = tid; i < 256 * 32 / 4; i += HIST_BLOCK) clear[i] = make_uint4(0u, 0u, 0u, 0u);
    __syncthreads();

    const uint4 *source = reinterpret_cast<const uint4 *>(keys + head);
    const int64_t tiles = vectors / tile;

    for (int64_t k = blockIdx.x; k < tiles; k += gridDim.x) {
        const uint4 *p = source + k * tile + tid;
        uint4 v[HIST_VECTORS];
#pragma unroll unrolled
        for (int j = 0; j < unrolled; ++j) v[j] = __ldcs(p + j * HIST_BLOCK);
#pragma unroll unrolled
        for (int j = 0; j < unrolled; ++j) {
#if HIST_UNIFORM_PATH
            const uint32_t x = v[j].x;
            const uint32_t rotated = __funnelshift_l(x, x, 8);
            const uint32_t differ = (x ^ v[j].y) | (x ^ v[j].z) | (x ^ v[j].w) | (x ^ rotated);
            if (__all_sync(0xFFFFFFFFu, differ == 0u)) {
                hist_add(hist, ((x << 7) & 0x7F80u) | lane4, 16u);
            } else {
                hist_vector(hist, v[j], lane4);
            }
#else
            hist_vector(hist, v[j], lane4);
#endif
        }
    }

    /* Vectors behind the last whole tile. */
    for (int64_t i = tiles * tile + (int64_t)blockIdx.x * HIST_BLOCK + tid; i < vectors; i += (int64_t)gridDim.x * HIST_BLOCK) {
        const uint4 v = source[i];
        hist_vector(hist, v, lane4);
    }

    /* Fewer than 16 bytes ahead of the first aligned vector and behind the last one. */
    if (blockIdx.x == 0) {
        if (tid < head) hist_add(hist, ((uint32_t)keys[tid] << 7) | lane4, 1u);
        const int64_t i = (int64_t)head + vectors * 16 + tid;
        if (i < n) hist_add(hist, ((uint32_t)keys[i] << 7) | lane4, 1u);
    }
    __syncthreads();

    /* Each warp sums its bins over the 32 lanes; lane j keeps the sum of the warp's bin j. */
    constexpr int warps = HIST_BLOCK / 32;
    constexpr int bins = 256 / warps; /* 32, 16 or 8 */
    const int first = (tid >> 5) * bins;
    uint32_t mine = 0u;
#pragma unroll 4
    for (int j = 0; j < bins; ++j) {
        const uint32_t sum = __reduce_add_sync(0xFFFFFFFFu, hist[(first + j) * 32 + lane]);
        if (lane == j) mine = sum;
    }
    if (lane < bins && mine != 0u) atomicAdd(&counts[first + lane], (int32_t)mine);
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    if (n <= 0) return;

    int device = 0;
    int sms = 0;
    cudaGetDevice(&device);
    if (cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess || sms < 1) sms = 1;

    /* Shared memory for the resident blocks, the rest stays L1 for the loads in flight. */
    int carveout = (33 * HIST_BLOCKS_PER_SM * 100 + 227) / 228;
    if (carveout > 100) carveout = 100;
    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout);

    int64_t head = (int64_t)((16u - (unsigned)((uintptr_t)keys & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t vectors = (n - head) / 16;

    int64_t grid = (int64_t)sms * HIST_BLOCKS_PER_SM;
    const int64_t needed = (vectors + HIST_BLOCK - 1) / HIST_BLOCK;
    if (grid > needed) grid = needed;
    if (grid < 1) grid = 1;

    histogram_kernel<<<(unsigned)grid, HIST_BLOCK, 0, stream>>>(keys, counts, n, (int)head, vectors);
}
