#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune HIST_THREADS 512 768 1024
// kforge: tune HIST_BLOCKS_PER_SM 1 2 3
// kforge: tune HIST_REPLICAS 1 2 3 4 6
// kforge: tune HIST_UNROLL 1 2 4
// kforge: require HIST_THREADS * HIST_BLOCKS_PER_SM <= 2048
// kforge: require HIST_REPLICAS * HIST_BLOCKS_PER_SM <= 6
#ifndef HIST_THREADS
#define HIST_THREADS 768
#endif
#ifndef HIST_BLOCKS_PER_SM
#define HIST_BLOCKS_PER_SM 2
#endif
#ifndef HIST_REPLICAS
#define HIST_REPLICAS 2
#endif
#ifndef HIST_UNROLL
#define HIST_UNROLL 4
#endif

static constexpr int kBins = 256;
static constexpr int kReplicaWords = kBins * 32;               /* 32 KiB */
static constexpr int kSharedBytes = HIST_REPLICAS * kReplicaWords * 4;

__global__ void histogram_clear_kernel(int32_t *counts)
{
    counts[threadIdx.x] = 0;
}

__device__ __forceinline__ uint4 load_stream(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

__device__ __forceinline__ void count_one(uint32_t address)
{
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address) : "memory");
}

__device__ __forceinline__ void count_word(uint32_t w, uint32_t base)
{
    count_one(__byte_perm(w, 0, 0x4440) * 128u + base);
    count_one(__byte_perm(w, 0, 0x4441) * 128u + base);
    count_one(__byte_perm(w, 0, 0x4442) * 128u + base);
    count_one(__byte_perm(w, 0, 0x4443) * 128u + base);
}

__device__ __forceinline__ void count_vector(const uint4 &v, uint32_t base)
{
    const uint32_t r = __byte_perm(v.x, 0, 0x0000); /* lowest byte, four times */
    const uint32_t difference = (v.x ^ r) | (v.y ^ r) | (v.z ^ r) | (v.w ^ r);
    if (difference == 0u) {
        const uint32_t address = (r & 255u) * 128u + base;
        asm volatile("red.shared.add.u32 [%0], 16;" ::"r"(address) : "memory");
    } else {
        count_word(v.x, base);
        count_word(v.y, base);
        count_word(v.z, base);
        count_word(v.w, base);
    }
}

__global__ void __launch_bounds__(HIST_THREADS, HIST_BLOCKS_PER_SM)
histogram_kernel(const uint8_t *keys, int32_t *counts, int64_t n, int head, int64_t vectors)
{
    extern __shared__ uint4 shared_vectors[];
    __shared__ int32_t totals[kBins];
    uint32_t *shared_counts = reinterpret_cast<uint32_t *>(shared_vectors);

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;

    for (int i = tid; i < kSharedBytes / 16; i += HIST_THREADS) shared_vectors[i] = make_uint4(0u, 0u, 0u, 0u);
    __syncthreads();

    const uint32_t base = (uint32_t)__cvta_generic_to_shared(shared_counts)
                        + (uint32_t)(warp % HIST_REPLICAS) * (uint32_t)(kReplicaWords * 4) + (uint32_t)lane * 4u;

    const uint4 *data = reinterpret_cast<const uint4 *>(keys + head);
    constexpr int unrolled = HIST_UNROLL;
    constexpr int64_t tile = (int64_t)HIST_THREADS * HIST_UNROLL;
    const int64_t step = tile * gridDim.x;

    for (int64_t start = (int64_t)blockIdx.x * tile; start < vectors; start += step) {
        if (start + tile <= vectors) {
            const uint4 *p = data + start + tid;
            uint4 v[unrolled];
#pragma unroll unrolled
            for (int u = 0; u < unrolled; u++) v[u] = load_stream(p + u * HIST_THREADS);
#pragma unroll unrolled
            for (int u = 0; u < unrolled; u++) count_vector(v[u], base);
        } else {
            for (int64_t i = start + tid; i < vectors; i += HIST_THREADS) {
                const uint4 v = load_stream(data + i);
                count_vector(v, base);
            }
        }
    }

    /* fewer than 16 keys ahead of the aligned part and fewer than 16 behind it */
    if (blockIdx.x == 0) {
        if (tid < head) count_one((uint32_t)keys[tid] * 128u + base);
        const int64_t rest = (int64_t)head + vectors * 16 + tid;
        if (tid < 16 && rest < n) count_one((uint32_t)keys[rest] * 128u + base);
    }
    __syncthreads();

    for (int bin = warp; bin < kBins; bin += HIST_THREADS / 32) {
        uint32_t sum = 0;
        constexpr int replicas = HIST_REPLICAS;
#pragma unroll replicas
        for (int r = 0; r < replicas; r++) sum += shared_counts[r * kReplicaWords + bin * 32 + lane];
        sum = __reduce_add_sync(0xffffffffu, sum);
        if (lane == 0) totals[bin] = (int32_t)sum;
    }
    __syncthreads();

    cudaGridDependencySynchronize(); /* the output is cleared from here on */
    for (int bin = tid; bin < kBins; bin += HIST_THREADS) {
        const int32_t total = totals[bin];
        if (total != 0) atomicAdd(&counts[bin], total);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    histogram_clear_kernel<<<1, kBins, 0, stream>>>(counts);
    if (n <= 0) return;

    int device = 0;
    int processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (processors < 1) processors = 1;

    int64_t head64 = (int64_t)((16u - (unsigned)(reinterpret_cast<uintptr_t>(keys) & 15u)) & 15u);
    if (head64 > n) head64 = n;
    const int head = (int)head64;
    const int64_t vectors = (n - head64) / 16;

    const int64_t tile = (int64_t)HIST_THREADS * HIST_UNROLL;
    int64_t blocks = (vectors + tile - 1) / tile;
    const int64_t most = (int64_t)processors * HIST_BLOCKS_PER_SM;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;

    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks, 1, 1);
    config.blockDim = dim3(HIST_THREADS, 1, 1);
    config.dynamicSmemBytes = kSharedBytes;
    config.stream = stream;
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, histogram_kernel, keys, counts, n, head, vectors);
}
