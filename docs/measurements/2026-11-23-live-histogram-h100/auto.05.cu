#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune WARPS_PER_BLOCK 16 20 24 32
// kforge: tune RING_STAGES 2 3 4
// kforge: tune STAGE_VECS 2 4 8
// kforge: tune EVICT_FIRST_HINT 0 1
// kforge: require WARPS_PER_BLOCK * RING_STAGES * STAGE_VECS <= 320
#ifndef WARPS_PER_BLOCK
#define WARPS_PER_BLOCK 32
#endif
#ifndef RING_STAGES
#define RING_STAGES 2
#endif
#ifndef STAGE_VECS
#define STAGE_VECS 4
#endif
#ifndef EVICT_FIRST_HINT
#define EVICT_FIRST_HINT 1
#endif

namespace {

constexpr int kBins = 256;
constexpr int kRowWords = 64;                              /* 32 lanes, two copies */
constexpr int kTableBytes = kBins * kRowWords * 4;         /* 65536 */
constexpr int kThreads = WARPS_PER_BLOCK * 32;
constexpr int kStageBytes = STAGE_VECS * 512;              /* one warp, STAGE_VECS times 16 bytes a lane */
constexpr int kRingBytes = WARPS_PER_BLOCK * RING_STAGES * kStageBytes;
constexpr int kBarrierBytes = WARPS_PER_BLOCK * RING_STAGES * 8;
constexpr int kSharedBytes = kTableBytes + kRingBytes + kBarrierBytes + 16;
static_assert(kSharedBytes <= 232448, "too much shared memory");
static_assert(kRingBytes >= kBins * 4, "the totals reuse the ring");

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void barrier_init(uint32_t bar)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t bar, uint32_t parity)
{
    uint32_t done;
    do {
        asm volatile(
            "{\n\t"
            ".reg .pred p;\n\t"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
            "selp.u32 %0, 1, 0, p;\n\t"
            "}"
            : "=r"(done)
            : "r"(bar), "r"(parity)
            : "memory");
    } while (done == 0u);
}

/* One lane: expect kStageBytes on the barrier and start the copy. */
__device__ __forceinline__ void start_copy(uint32_t dst, const uint8_t *src, uint32_t bar, uint64_t policy)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"((uint32_t)kStageBytes) : "memory");
#if EVICT_FIRST_HINT
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(dst),
        "l"(__cvta_generic_to_global(src)), "r"((uint32_t)kStageBytes), "r"(bar), "l"(policy)
        : "memory");
#else
    (void)policy;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst),
                 "l"(__cvta_generic_to_global(src)), "r"((uint32_t)kStageBytes), "r"(bar)
                 : "memory");
#endif
}

__device__ __forceinline__ void add_at(unsigned char *table, unsigned offset, unsigned value)
{
    atomicAdd(reinterpret_cast<unsigned *>(table + offset), value);
}

/* offset = key * 256 + place, place < 256: bytes (place, key, 0, 0), one PRMT. */
__device__ __forceinline__ void count_word(unsigned char *table, unsigned w, unsigned place)
{
    add_at(table, __byte_perm(w, place, 0x5504), 1u);
    add_at(table, __byte_perm(w, place, 0x5514), 1u);
    add_at(table, __byte_perm(w, place, 0x5524), 1u);
    add_at(table, __byte_perm(w, place, 0x5534), 1u);
}

__global__ void clear_kernel(int32_t *counts)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    counts[threadIdx.x] = 0;
}

__global__ void __launch_bounds__(kThreads, 1)
histogram_kernel(const uint8_t *keys, int32_t *counts, int64_t n, int64_t head, int64_t chunks)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    unsigned char *table = smem;
    unsigned char *ring = smem + kTableBytes;
    unsigned char *barriers = ring + kRingBytes;
    unsigned *next = reinterpret_cast<unsigned *>(barriers + kBarrierBytes);

    const unsigned tid = threadIdx.x;
    const unsigned lane = tid & 31u;
    const unsigned warp = tid >> 5;
    const unsigned place = lane * 4u + (warp & 1u) * 128u;
    constexpr int stage_unroll = RING_STAGES;
    constexpr int vec_unroll = STAGE_VECS;

    unsigned char *my_ring = ring + warp * (RING_STAGES * kStageBytes);
    const uint32_t ring_addr = shared_address(my_ring);
    const uint32_t bar_addr = shared_address(barriers) + warp * (RING_STAGES * 8);
    const uint8_t *body = keys + head;
    const int64_t grid = (int64_t)gridDim.x;
    const int64_t block = (int64_t)blockIdx.x;

    uint64_t policy = 0;
#if EVICT_FIRST_HINT
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif

    /* Every warp fills its own ring before anything else. */
    if (lane == 0) {
#pragma unroll stage_unroll
        for (int s = 0; s < RING_STAGES; ++s) barrier_init(bar_addr + s * 8);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
    int live = 0;
#pragma unroll stage_unroll
    for (int s = 0; s < RING_STAGES; ++s) {
        const int64_t chunk = (int64_t)(s * WARPS_PER_BLOCK + (int)warp) * grid + block;
        if (chunk < chunks) {
            if (lane == 0) start_copy(ring_addr + s * kStageBytes, body + chunk * kStageBytes, bar_addr + s * 8, policy);
            ++live;
        }
    }

    {
        uint4 *clear = reinterpret_cast<uint4 *>(table);
        for (int i = (int)tid; i < kTableBytes / 16; i += kThreads) clear[i] = make_uint4(0u, 0u, 0u, 0u);
        if (tid == 0) *next = RING_STAGES * WARPS_PER_BLOCK;
    }
    __syncthreads();

    unsigned drawn = 0;
    if (lane == 0 && live > 0) drawn = atomicAdd(next, 1u);

    /* Keys before the first aligned 16 bytes and after the last whole chunk. */
    if (blockIdx.x == gridDim.x - 1) {
        for (int64_t i = tid; i < head; i += kThreads) add_at(table, ((unsigned)keys[i] << 8) | place, 1u);
        for (int64_t i = head + chunks * kStageBytes + tid; i < n; i += kThreads)
            add_at(table, ((unsigned)keys[i] << 8) | place, 1u);
        __syncwarp();
    }

    unsigned slot = 0;
    unsigned parity = 0;
    while (live > 0) {
        const uint32_t bar = bar_addr + slot * 8;
        barrier_wait(bar, parity);

        const uint4 *src = reinterpret_cast<const uint4 *>(my_ring + slot * kStageBytes) + lane;
        uint4 v[STAGE_VECS];
#pragma unroll vec_unroll
        for (int k = 0; k < STAGE_VECS; ++k) v[k] = src[k * 32];

        /* One test a stage: do all lanes hold a single value each? It also uses every loaded register before the refill. */
        const unsigned first = __byte_perm(v[0].x, 0u, 0x0000);
        unsigned differ = 0;
#pragma unroll vec_unroll
        for (int k = 0; k < STAGE_VECS; ++k) {
            differ |= v[k].x ^ first;
            differ |= v[k].y ^ first;
            differ |= v[k].z ^ first;
            differ |= v[k].w ^ first;
        }
        const bool same = __all_sync(0xffffffffu, differ == 0u) != 0;

        /* The stage is free: refill it before its keys are counted. */
        const unsigned ticket = __shfl_sync(0xffffffffu, drawn, 0);
        const int64_t chunk = (int64_t)ticket * grid + block;
        __syncwarp();
        if (chunk < chunks) {
            if (lane == 0) {
                start_copy(ring_addr + slot * kStageBytes, body + chunk * kStageBytes, bar, policy);
                drawn = atomicAdd(next, 1u);
            }
        } else {
            --live;
        }
        __syncwarp();

        if (same) {
            add_at(table, __byte_perm(first, place, 0x5504), (unsigned)(STAGE_VECS * 16));
        } else {
#pragma unroll vec_unroll
            for (int k = 0; k < STAGE_VECS; ++k) {
                count_word(table, v[k].x, place);
                count_word(table, v[k].y, place);
                count_word(table, v[k].z, place);
                count_word(table, v[k].w, place);
            }
        }

        if (++slot == RING_STAGES) {
            slot = 0;
            parity ^= 1u;
        }
    }
    __syncthreads();

    /* All copies have arrived and been read: the ring's first 1024 bytes hold the totals. */
    unsigned *totals = reinterpret_cast<unsigned *>(ring);
    const unsigned *rows = reinterpret_cast<const unsigned *>(table);
    for (int bin = (int)warp; bin < kBins; bin += WARPS_PER_BLOCK) {
        const unsigned part = rows[bin * kRowWords + lane] + rows[bin * kRowWords + 32 + lane];
        const unsigned sum = __reduce_add_sync(0xffffffffu, part);
        if (lane == 0) totals[bin] = sum;
    }
    __syncthreads();

    /* The clear has to be complete and visible before the first add. */
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (tid < kBins) {
        const unsigned sum = totals[tid];
        if (sum != 0u) atomicAdd(&counts[tid], (int32_t)sum);
    }
}

}  // namespace

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaFuncSetAttribute(clear_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, (int)cudaSharedmemCarveoutMaxShared);
    clear_kernel<<<1, kBins, 0, stream>>>(counts);
    if (n <= 0) return;

    int device = 0;
    int sms = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (sms < 1) sms = 1;
    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, (int)cudaSharedmemCarveoutMaxShared);

    int64_t head = (int64_t)((16u - (unsigned)(reinterpret_cast<uintptr_t>(keys) & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t chunks = (n - head) / kStageBytes;

    int64_t blocks = (chunks + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK;
    if (blocks > sms) blocks = sms;
    if (blocks < 1) blocks = 1;

    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)kThreads);
    config.dynamicSmemBytes = kSharedBytes;
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, histogram_kernel, keys, counts, n, head, chunks);
}
