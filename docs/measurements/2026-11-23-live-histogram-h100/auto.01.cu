#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_THREADS 256 512 1024
// kforge: tune BLOCKS_PER_SM 1 2 4
// kforge: tune LOADS_AHEAD 1 2 4 8
// kforge: tune MERGE_RUNS 0 1
// kforge: tune RUNTIME_ONE 0 1
// kforge: require BLOCK_THREADS * BLOCKS_PER_SM <= 2048
// kforge: require BLOCK_THREADS * BLOCKS_PER_SM * LOADS_AHEAD <= 8192
#ifndef BLOCK_THREADS
#define BLOCK_THREADS 1024
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 1
#endif
#ifndef LOADS_AHEAD
#define LOADS_AHEAD 4
#endif
#ifndef MERGE_RUNS
#define MERGE_RUNS 1
#endif
/* 1: the increment is a kernel argument, so that the compiler emits a plain shared add in place of its count-the-lanes form */
#ifndef RUNTIME_ONE
#define RUNTIME_ONE 0
#endif

__device__ __forceinline__ uint4 load_stream(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

/* offset: bin * 128 + lane * 4 bytes */
__device__ __forceinline__ void bump(int32_t *table, uint32_t offset, int32_t by)
{
    atomicAdd((int32_t *)((char *)table + offset), by);
}

__device__ __forceinline__ void count_word(int32_t *table, uint32_t w, uint32_t lane4, int32_t one)
{
    bump(table, ((w << 7) & 0x7f80u) | lane4, one);
    bump(table, ((w >> 1) & 0x7f80u) | lane4, one);
    bump(table, ((w >> 9) & 0x7f80u) | lane4, one);
    bump(table, ((w >> 17) & 0x7f80u) | lane4, one);
}

__device__ __forceinline__ void count_vector(int32_t *table, uint4 v, uint32_t lane4, int32_t one)
{
#if MERGE_RUNS
    const uint32_t same = __byte_perm(v.x, 0u, 0x0000);
    if (((v.x ^ same) | (v.y ^ same) | (v.z ^ same) | (v.w ^ same)) == 0u) {
        bump(table, ((v.x << 7) & 0x7f80u) | lane4, 16);
        return;
    }
#endif
    count_word(table, v.x, lane4, one);
    count_word(table, v.y, lane4, one);
    count_word(table, v.z, lane4, one);
    count_word(table, v.w, lane4, one);
}

__global__ void clear_kernel(int32_t *counts)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    counts[threadIdx.x] = 0;
}

__global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *counts, int64_t n, int64_t head, int64_t vectors, int64_t per_block,
                 int32_t one_argument)
{
    constexpr int ahead = LOADS_AHEAD;
    constexpr int tile = BLOCK_THREADS * LOADS_AHEAD;
    __shared__ __align__(128) int32_t table[256 * 32];

#if RUNTIME_ONE
    const int32_t one = one_argument;
#else
    const int32_t one = 1;
    (void)one_argument;
#endif
    const int tid = (int)threadIdx.x;
    const uint32_t lane = (uint32_t)tid & 31u;
    const uint32_t lane4 = lane * 4u;

    int64_t begin = per_block * (int64_t)blockIdx.x;
    if (begin > vectors) begin = vectors;
    int64_t end = begin + per_block;
    if (end > vectors) end = vectors;
    const int64_t full = (end - begin) / tile;

    const uint4 *body = (const uint4 *)(keys + head);
    const uint4 *p = body + begin + tid;

    /* the first loads travel while the table is cleared */
    uint4 ring[ahead];
    if (full > 0) {
#pragma unroll
        for (int u = 0; u < ahead; u++) ring[u] = load_stream(p + u * BLOCK_THREADS);
    } else {
#pragma unroll
        for (int u = 0; u < ahead; u++) ring[u] = make_uint4(0u, 0u, 0u, 0u);
    }

    for (int i = tid; i < 256 * 32 / 4; i += BLOCK_THREADS) ((int4 *)table)[i] = make_int4(0, 0, 0, 0);
    __syncthreads();

    if (full > 0) {
#pragma unroll 1
        for (int64_t it = 1; it < full; it++) {
            p += tile;
#pragma unroll
            for (int u = 0; u < ahead; u++) {
                const uint4 v = ring[u];
                ring[u] = load_stream(p + u * BLOCK_THREADS);
                count_vector(table, v, lane4, one);
            }
        }
#pragma unroll
        for (int u = 0; u < ahead; u++) count_vector(table, ring[u], lane4, one);
    }
#pragma unroll 1
    for (int64_t i = begin + full * tile + tid; i < end; i += BLOCK_THREADS) count_vector(table, load_stream(body + i), lane4, one);

    /* the keys before the first and after the last aligned vector, at most 15 each */
    if (blockIdx.x == 0) {
        if (tid < head) bump(table, ((uint32_t)keys[tid] << 7) | lane4, one);
        const int64_t rest = head + vectors * 16 + tid;
        if (tid < 16 && rest < n) bump(table, ((uint32_t)keys[rest] << 7) | lane4, one);
    }
    __syncthreads();

    /* each warp sums the 32 columns of its bins; lane j keeps the sum of bin j */
    constexpr int bins_a_warp = 256 / (BLOCK_THREADS / 32);
    const int first_bin = (tid >> 5) * bins_a_warp;
    int32_t mine = 0;
#pragma unroll
    for (int j = 0; j < bins_a_warp; j++) {
        const int32_t sum = __reduce_add_sync(0xffffffffu, table[(first_bin + j) * 32 + (int)lane]);
        if ((int)lane == j) mine = sum;
    }

    /* the clearing kernel has to be finished before anything is added */
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if ((int)lane < bins_a_warp && mine != 0) atomicAdd(&counts[first_bin + (int)lane], mine);
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    clear_kernel<<<1, 256, 0, stream>>>(counts);
    if (n <= 0) return;

    int device = 0, processors = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);

    int64_t head = (int64_t)((16u - (unsigned)((uintptr_t)keys & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t vectors = (n - head) / 16;

    int64_t blocks = (vectors + BLOCK_THREADS - 1) / BLOCK_THREADS;
    const int64_t most = (int64_t)processors * BLOCKS_PER_SM;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;
    const int64_t per_block = ((vectors + blocks - 1) / blocks + 31) / 32 * 32;

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3(BLOCK_THREADS);
    config.dynamicSmemBytes = 0;
    config.stream = stream;
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, histogram_kernel, keys, counts, n, head, vectors, per_block, (int32_t)1);
}
