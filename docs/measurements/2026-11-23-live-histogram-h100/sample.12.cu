#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune HIST_BLOCK 256 512 768 1024
// kforge: tune HIST_BLOCKS_PER_SM 1 2 3 4
// kforge: tune HIST_VECS 1 2 4
// kforge: tune HIST_LOG_COPIES 3 4 5
// kforge: tune HIST_RUN_CHECK 0 1
// kforge: tune HIST_INC_MODE 0 1
// kforge: require HIST_BLOCK * HIST_BLOCKS_PER_SM <= 2048
#ifndef HIST_BLOCK
#define HIST_BLOCK 512
#endif
#ifndef HIST_BLOCKS_PER_SM
#define HIST_BLOCKS_PER_SM 3
#endif
#ifndef HIST_VECS
#define HIST_VECS 2
#endif
#ifndef HIST_LOG_COPIES
#define HIST_LOG_COPIES 5
#endif
#ifndef HIST_RUN_CHECK
#define HIST_RUN_CHECK 1
#endif
#ifndef HIST_INC_MODE
#define HIST_INC_MODE 0
#endif

static constexpr int kCopies = 1 << HIST_LOG_COPIES;
static constexpr int kShift = HIST_LOG_COPIES + 2; /* bytes a bin = 1 << kShift */
static constexpr uint32_t kMask = 0xffu << kShift;
static constexpr int kWords = 256 * kCopies;

template <int BYTE>
__device__ __forceinline__ uint32_t bin_offset(uint32_t w, uint32_t lane_off)
{
    constexpr int s = 8 * BYTE - kShift;
    constexpr int right = s > 0 ? s : 0;
    constexpr int left = s < 0 ? -s : 0;
    const uint32_t x = (w >> right) << left;
    return (x & kMask) | lane_off;
}

__device__ __forceinline__ void bump(int32_t *hist, uint32_t byte_off, int32_t value)
{
    atomicAdd(reinterpret_cast<int32_t *>(reinterpret_cast<char *>(hist) + byte_off), value);
}

__device__ __forceinline__ void count_word(int32_t *hist, uint32_t w, uint32_t lane_off, int32_t one)
{
#if HIST_INC_MODE == 0
    (void)one;
    bump(hist, bin_offset<0>(w, lane_off), 1);
    bump(hist, bin_offset<1>(w, lane_off), 1);
    bump(hist, bin_offset<2>(w, lane_off), 1);
    bump(hist, bin_offset<3>(w, lane_off), 1);
#else
    bump(hist, bin_offset<0>(w, lane_off), one);
    bump(hist, bin_offset<1>(w, lane_off), one);
    bump(hist, bin_offset<2>(w, lane_off), one);
    bump(hist, bin_offset<3>(w, lane_off), one);
#endif
}

__device__ __forceinline__ void count_vec(int32_t *hist, const uint4 &v, uint32_t lane_off, int32_t one)
{
#if HIST_RUN_CHECK
    const uint32_t d = (v.x ^ v.y) | (v.x ^ v.z) | (v.x ^ v.w) | (v.x ^ __byte_perm(v.x, 0u, 0x0000));
    if (d == 0u) {
        bump(hist, bin_offset<0>(v.x, lane_off), 16);
        return;
    }
#endif
    count_word(hist, v.x, lane_off, one);
    count_word(hist, v.y, lane_off, one);
    count_word(hist, v.z, lane_off, one);
    count_word(hist, v.w, lane_off, one);
}

__global__ void __launch_bounds__(HIST_BLOCK, HIST_BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, int64_t head, int64_t vectors,
                 int32_t one)
{
    __shared__ __align__(128) int32_t hist[kWords];
    constexpr int vecs = HIST_VECS;
    constexpr int64_t tile = (int64_t)HIST_BLOCK * vecs;
    const int tid = threadIdx.x;
    const uint32_t lane_off = (uint32_t)(tid & (kCopies - 1)) * 4u;
    const uint4 *__restrict__ data = reinterpret_cast<const uint4 *>(keys + head);
    const int64_t full = vectors / tile;
    const int64_t step = gridDim.x;

    uint4 cur[vecs];
    int64_t t = blockIdx.x;
    if (t < full) {
        const uint4 *p = data + t * tile + tid;
#pragma unroll
        for (int j = 0; j < vecs; j++) cur[j] = __ldcs(p + j * HIST_BLOCK);
    }

    for (int i = tid; i < kWords / 4; i += HIST_BLOCK) reinterpret_cast<int4 *>(hist)[i] = make_int4(0, 0, 0, 0);
    __syncthreads();

    while (t < full) {
        const int64_t next = t + step;
        uint4 nxt[vecs];
        if (next < full) {
            const uint4 *p = data + next * tile + tid;
#pragma unroll
            for (int j = 0; j < vecs; j++) nxt[j] = __ldcs(p + j * HIST_BLOCK);
        } else {
#pragma unroll
            for (int j = 0; j < vecs; j++) nxt[j] = make_uint4(0u, 0u, 0u, 0u);
        }
#pragma unroll
        for (int j = 0; j < vecs; j++) count_vec(hist, cur[j], lane_off, one);
#pragma unroll
        for (int j = 0; j < vecs; j++) cur[j] = nxt[j];
        t = next;
    }

    /* vectors after the last full tile */
    for (int64_t v = full * tile + (int64_t)blockIdx.x * HIST_BLOCK + tid; v < vectors; v += step * HIST_BLOCK) {
        const uint4 x = __ldcs(data + v);
        count_vec(hist, x, lane_off, one);
    }

    /* fewer than 16 keys before the first and after the last aligned vector */
    if (blockIdx.x == 0) {
        if (tid < head) bump(hist, ((uint32_t)keys[tid] << kShift) | lane_off, 1);
        const int64_t i = head + vectors * 16 + tid;
        if (i < n) bump(hist, ((uint32_t)keys[i] << kShift) | lane_off, 1);
    }
    __syncthreads();

    for (int b = tid; b < 256; b += HIST_BLOCK) {
        int32_t sum = 0;
#pragma unroll 8
        for (int c = 0; c < kCopies; c++) sum += hist[b * kCopies + ((c + b) & (kCopies - 1))];
        if (sum != 0) atomicAdd(&counts[b], sum);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    if (n <= 0) return;

    int device = 0, sms = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (sms < 1) sms = 1;
    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);

    int64_t head = (int64_t)((16u - (unsigned)(reinterpret_cast<uintptr_t>(keys) & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t vectors = (n - head) / 16;
    const int64_t tile = (int64_t)HIST_BLOCK * HIST_VECS;
    int64_t blocks = (vectors + tile - 1) / tile;
    const int64_t most = (int64_t)sms * HIST_BLOCKS_PER_SM;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;
    histogram_kernel<<<(unsigned)blocks, HIST_BLOCK, 0, stream>>>(keys, counts, n, head, vectors, 1);
}
