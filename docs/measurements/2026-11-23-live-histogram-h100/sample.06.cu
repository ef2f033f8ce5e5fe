#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_THREADS 256 512 640 768 1024
// kforge: tune BLOCKS_PER_SM 1 2 3
// kforge: tune VECTORS_THREAD 1 2 4
// kforge: tune OPAQUE_ONE 0 1
// kforge: require BLOCK_THREADS * BLOCKS_PER_SM <= 2048
// kforge: require BLOCK_THREADS * BLOCKS_PER_SM * VECTORS_THREAD <= 4096
#ifndef BLOCK_THREADS
#define BLOCK_THREADS 512
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 3
#endif
#ifndef VECTORS_THREAD
#define VECTORS_THREAD 2
#endif
#ifndef OPAQUE_ONE
#define OPAQUE_ONE 0
#endif

#define HIST_BINS 256
#define HIST_ROW_BYTES 256 /* 2 copies x 32 lanes x 4 bytes */
#define HIST_SMEM_BYTES (HIST_BINS * HIST_ROW_BYTES)

extern __shared__ __align__(1024) unsigned char hist_smem[];

__device__ __forceinline__ uint4 load_stream(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

__device__ __forceinline__ void bump(uint32_t offset, uint32_t amount)
{
    atomicAdd(reinterpret_cast<unsigned int *>(hist_smem + offset), amount);
}

/* column: byte 0 = copy * 128 + lane * 4, bytes 1..3 = 0. Result: key << 8 | column. */
__device__ __forceinline__ void count_word(uint32_t word, uint32_t column, uint32_t one)
{
#if OPAQUE_ONE
    const uint32_t step = one;
#else
    const uint32_t step = 1u;
    (void)one;
#endif
    bump(__byte_perm(word, column, 0x5504), step);
    bump(__byte_perm(word, column, 0x5514), step);
    bump(__byte_perm(word, column, 0x5524), step);
    bump(__byte_perm(word, column, 0x5534), step);
}

__device__ __forceinline__ void count_vector(const uint4 &v, uint32_t column, uint32_t one)
{
    count_word(v.x, column, one);
    count_word(v.y, column, one);
    count_word(v.z, column, one);
    count_word(v.w, column, one);
}

__global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, uint32_t one)
{
    constexpr int vectors = VECTORS_THREAD;
    constexpr int64_t tile_vectors = (int64_t)BLOCK_THREADS * VECTORS_THREAD;
    const uint32_t tid = threadIdx.x;
    const uint32_t column = ((tid & 31u) << 2) | (((tid >> 5) & 1u) << 7);

    int64_t head = (int64_t)((16u - (uint32_t)((uintptr_t)keys & 15u)) & 15u);
    if (head > n) head = n;
    const uint4 *body = reinterpret_cast<const uint4 *>(keys + head);
    const int64_t vector_count = (n - head) >> 4;
    const int64_t full_tiles = vector_count / tile_vectors;

    uint4 current[vectors];
    int64_t tile = blockIdx.x;
    if (tile < full_tiles) {
        const uint4 *p = body + tile * tile_vectors + tid;
#pragma unroll
        for (int k = 0; k < vectors; ++k) current[k] = load_stream(p + k * BLOCK_THREADS);
    }

    /* the first loads are under way while the counters are cleared */
    for (uint32_t i = tid; i < HIST_SMEM_BYTES / 16; i += BLOCK_THREADS)
        reinterpret_cast<uint4 *>(hist_smem)[i] = make_uint4(0u, 0u, 0u, 0u);
    __syncthreads();

    while (tile < full_tiles) {
        const int64_t next_tile = tile + gridDim.x;
        uint4 following[vectors];
        if (next_tile < full_tiles) {
            const uint4 *p = body + next_tile * tile_vectors + tid;
#pragma unroll
            for (int k = 0; k < vectors; ++k) following[k] = load_stream(p + k * BLOCK_THREADS);
        } else {
#pragma unroll
            for (int k = 0; k < vectors; ++k) following[k] = make_uint4(0u, 0u, 0u, 0u);
        }
#pragma unroll
        for (int k = 0; k < vectors; ++k) {
            const uint4 v = current[k];
            const uint32_t turned = __funnelshift_r(v.x, v.x, 8);
            const uint32_t differ = (v.x ^ v.y) | (v.x ^ v.z) | (v.x ^ v.w) | (v.x ^ turned);
            if (__all_sync(0xffffffffu, differ == 0u)) {
                bump(__byte_perm(v.x, column, 0x5504), 16u);
            } else {
                count_vector(v, column, one);
            }
        }
#pragma unroll
        for (int k = 0; k < vectors; ++k) current[k] = following[k];
        tile = next_tile;
    }

    /* vectors behind the last full tile */
    for (int64_t i = full_tiles * tile_vectors + (int64_t)blockIdx.x * BLOCK_THREADS + tid; i < vector_count;
         i += (int64_t)gridDim.x * BLOCK_THREADS) {
        const uint4 v = load_stream(body + i);
        count_vector(v, column, one);
    }

    /* bytes in front of the first and behind the last vector: at most 15 each */
    if (blockIdx.x == 0) {
        if ((int64_t)tid < head) bump(((uint32_t)keys[tid] << 8) | column, 1u);
        const int64_t tail = head + (vector_count << 4) + tid;
        if (tid < 16u && tail < n) bump(((uint32_t)keys[tail] << 8) | column, 1u);
    }
    __syncthreads();

    const uint32_t *table = reinterpret_cast<const uint32_t *>(hist_smem);
    for (uint32_t bin = tid; bin < HIST_BINS; bin += BLOCK_THREADS) {
        uint32_t sum = 0;
#pragma unroll 16
        for (uint32_t j = 0; j < 64u; ++j) sum += table[bin * 64u + ((j + tid) & 63u)];
        if (sum != 0u) atomicAdd(reinterpret_cast<unsigned int *>(counts) + bin, sum);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, HIST_BINS * sizeof(int32_t), stream);
    if (n <= 0) return;

    int device = 0;
    int multiprocessors = 132;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, HIST_SMEM_BYTES);

    const int64_t tile_bytes = (int64_t)BLOCK_THREADS * VECTORS_THREAD * 16;
    const int64_t wanted = (n + tile_bytes - 1) / tile_bytes;
    int64_t blocks = (int64_t)multiprocessors * BLOCKS_PER_SM;
    if (blocks > wanted) blocks = wanted;
    if (blocks < 1) blocks = 1;

    histogram_kernel<<<(unsigned)blocks, BLOCK_THREADS, HIST_SMEM_BYTES, stream>>>(keys, counts, n, 1u);
}
