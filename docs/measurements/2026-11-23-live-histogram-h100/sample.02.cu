#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune HIST_BLOCK_SIZE 256 512 1024
// kforge: tune HIST_BLOCKS_PER_SM 1 2 3 4 6
// kforge: tune HIST_VECS 1 2 4
// kforge: tune HIST_OPAQUE_ONE 0 1
// kforge: require HIST_BLOCK_SIZE * HIST_BLOCKS_PER_SM <= 2048
// kforge: require HIST_BLOCK_SIZE * HIST_BLOCKS_PER_SM * HIST_VECS <= 4096
#ifndef HIST_BLOCK_SIZE
#define HIST_BLOCK_SIZE 512
#endif
#ifndef HIST_BLOCKS_PER_SM
#define HIST_BLOCKS_PER_SM 3
#endif
#ifndef HIST_VECS
#define HIST_VECS 2
#endif
#ifndef HIST_OPAQUE_ONE
#define HIST_OPAQUE_ONE 0
#endif

namespace {

constexpr int kBlock = HIST_BLOCK_SIZE;
constexpr int kVecs = HIST_VECS;
constexpr int kBins = 256;
constexpr int kLanes = 32;
constexpr int kWarps = kBlock / 32;
constexpr int kBinsPerWarp = kBins / kWarps; /* 8, 16 or 32 */
constexpr int kTileVecs = kBlock * kVecs;    /* 16-byte vectors a tile */

__global__ void histogram_clear_kernel(int32_t *counts)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    counts[threadIdx.x] = 0;
}

/* off: byte offset of the counter, key * 128 + lane * 4 */
__device__ __forceinline__ void bump(unsigned *hist, unsigned off, unsigned one)
{
    unsigned *p = reinterpret_cast<unsigned *>(reinterpret_cast<char *>(hist) + off);
#if HIST_OPAQUE_ONE
    atomicAdd(p, one);
#else
    atomicAdd(p, 1u);
#endif
}

__device__ __forceinline__ void count_word(unsigned *hist, unsigned lane4, unsigned w, unsigned one)
{
    bump(hist, ((w << 7) & 0x7f80u) | lane4, one);
    bump(hist, ((w >> 1) & 0x7f80u) | lane4, one);
    bump(hist, ((w >> 9) & 0x7f80u) | lane4, one);
    bump(hist, ((w >> 17) & 0x7f80u) | lane4, one);
}

__device__ __forceinline__ void count_vec(unsigned *hist, unsigned lane4, const uint4 &v, unsigned one)
{
    count_word(hist, lane4, v.x, one);
    count_word(hist, lane4, v.y, one);
    count_word(hist, lane4, v.z, one);
    count_word(hist, lane4, v.w, one);
}

/* keys[0, head) and keys[head + 16 * nvec, n) are single bytes; in between are nvec aligned vectors. */
__global__ void __launch_bounds__(HIST_BLOCK_SIZE, HIST_BLOCKS_PER_SM)
histogram_main_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, int head, int64_t nvec)
{
    __shared__ __align__(128) unsigned hist[kBins * kLanes];

    const int tid = (int)threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const unsigned lane4 = (unsigned)lane * 4u;
    unsigned one = 1u;
#if HIST_OPAQUE_ONE
    asm volatile("mov.u32 %0, 1;" : "=r"(one));
#endif

    const uint4 *vecs = reinterpret_cast<const uint4 *>(keys + head);
    const int64_t full_tiles = nvec / kTileVecs;
    const int64_t grid = (int64_t)gridDim.x;
    int64_t left = full_tiles > (int64_t)blockIdx.x ? (full_tiles - 1 - (int64_t)blockIdx.x) / grid + 1 : 0;
    const uint4 *p = vecs + (int64_t)blockIdx.x * kTileVecs + tid;
    const int64_t step = grid * kTileVecs;

    constexpr int unrolled = kVecs;
    uint4 cur[kVecs];
    if (left > 0) {
#pragma unroll unrolled
        for (int j = 0; j < kVecs; ++j) cur[j] = __ldcs(p + j * kBlock);
    }

    uint4 *hist4 = reinterpret_cast<uint4 *>(hist);
    for (int i = tid; i < kBins * kLanes / 4; i += kBlock) hist4[i] = make_uint4(0u, 0u, 0u, 0u);
    __syncthreads();

    if (left > 0) {
        while (--left > 0) {
            p += step;
            uint4 nxt[kVecs];
#pragma unroll unrolled
            for (int j = 0; j < kVecs; ++j) nxt[j] = __ldcs(p + j * kBlock);
#pragma unroll unrolled
            for (int j = 0; j < kVecs; ++j) count_vec(hist, lane4, cur[j], one);
#pragma unroll unrolled
            for (int j = 0; j < kVecs; ++j) cur[j] = nxt[j];
        }
#pragma unroll unrolled
        for (int j = 0; j < kVecs; ++j) count_vec(hist, lane4, cur[j], one);
    }

    /* The unfinished tile and the single bytes go to the block that would have come next. */
    if ((int64_t)blockIdx.x == full_tiles % grid) {
        for (int64_t i = full_tiles * kTileVecs + tid; i < nvec; i += kBlock) {
            const uint4 v = __ldcs(vecs + i);
            count_vec(hist, lane4, v, one);
        }
        if (tid < head) bump(hist, ((unsigned)keys[tid] << 7) | lane4, one);
        for (int64_t i = (int64_t)head + nvec * 16 + tid; i < n; i += kBlock)
            bump(hist, ((unsigned)keys[i] << 7) | lane4, one);
    }
    __syncthreads();

    unsigned mine = 0u;
    const int first_bin = warp * kBinsPerWarp;
    constexpr int unrolled_bins = kBinsPerWarp < 8 ? kBinsPerWarp : 8;
#pragma unroll unrolled_bins
    for (int j = 0; j < kBinsPerWarp; ++j) {
        const unsigned s = __reduce_add_sync(0xffffffffu, hist[(first_bin + j) * kLanes + lane]);
        if (lane == j) mine = s;
    }

    /* counts must be cleared before the first add */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (lane < kBinsPerWarp && mine != 0u) atomicAdd(&counts[first_bin + lane], (int)mine);
}

} // namespace

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    histogram_clear_kernel<<<1, kBins, 0, stream>>>(counts);
    if (n <= 0) return;

    int device = 0, sms = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (sms <= 0) sms = 1;

    int head = (int)((16u - (unsigned)((uintptr_t)keys & 15u)) & 15u);
    if ((int64_t)head > n) head = (int)n;
    const int64_t nvec = (n - head) / 16;

    int64_t blocks = (nvec + kTileVecs - 1) / kTileVecs;
    const int64_t most = (int64_t)sms * HIST_BLOCKS_PER_SM;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;

    /* enough shared memory for all resident blocks (32 KiB + 1 KiB each), the rest stays with L1 */
    int carveout = (HIST_BLOCKS_PER_SM * 33 * 100 + 227) / 228;
    if (carveout > 100) carveout = 100;
    cudaFuncSetAttribute(histogram_main_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout);

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks, 1, 1);
    config.blockDim = dim3((unsigned)kBlock, 1, 1);
    config.dynamicSmemBytes = 0;
    config.stream = stream;
    cudaLaunchAttribute attribute[1] = {};
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attribute;
    config.numAttrs = 1;
    if (cudaLaunchKernelEx(&config, histogram_main_kernel, keys, counts, n, head, nvec) != cudaSuccess) {
        cudaGetLastError();
        histogram_main_kernel<<<(unsigned)blocks, kBlock, 0, stream>>>(keys, counts, n, head, nvec);
    }
}
