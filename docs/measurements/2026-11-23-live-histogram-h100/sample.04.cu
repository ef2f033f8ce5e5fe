#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_SIZE 256 512 1024
// kforge: tune BLOCKS_PER_SM 1 2 3 4 6
// kforge: tune BATCH_VECS 1 2 4
// kforge: tune MERGE_EQUAL 0 1
// kforge: require BLOCK_SIZE * BLOCKS_PER_SM <= 2048
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 512
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 3
#endif
#ifndef BATCH_VECS
#define BATCH_VECS 2
#endif
#ifndef MERGE_EQUAL
#define MERGE_EQUAL 1
#endif

__device__ __forceinline__ uint4 load_keys16(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

/* hist is [256 bins][32 lanes]: byte offset of a counter = bin * 128 + lane * 4 */
__device__ __forceinline__ void bump(char *hist, uint32_t shifted, uint32_t lane4, int amount)
{
    const uint32_t off = (shifted & 0x7f80u) | lane4;
    atomicAdd(reinterpret_cast<int *>(hist + off), amount);
}

__device__ __forceinline__ void count_word(char *hist, uint32_t w, uint32_t lane4)
{
    bump(hist, w << 7, lane4, 1);
    bump(hist, w >> 1, lane4, 1);
    bump(hist, w >> 9, lane4, 1);
    bump(hist, w >> 17, lane4, 1);
}

__device__ __forceinline__ void count_vec(char *hist, const uint4 &v, uint32_t lane4)
{
    count_word(hist, v.x, lane4);
    count_word(hist, v.y, lane4);
    count_word(hist, v.z, lane4);
    count_word(hist, v.w, lane4);
}

/* called by all 32 lanes of a warp together */
__device__ __forceinline__ void count_vec_warp(char *hist, const uint4 &v, uint32_t lane4)
{
#if MERGE_EQUAL
    const uint32_t rep = __byte_perm(v.x, 0, 0x0000);
    const uint32_t diff = (v.x ^ rep) | (v.y ^ rep) | (v.z ^ rep) | (v.w ^ rep);
    if (__all_sync(0xffffffffu, diff == 0)) {
        bump(hist, v.x << 7, lane4, 16);
        return;
    }
#endif
    count_vec(hist, v, lane4);
}

__global__ void clear_counts_kernel(int32_t *counts)
{
    cudaTriggerProgrammaticLaunchCompletion();
    counts[threadIdx.x] = 0;
}

__global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_SM)
    histogram_lanes_kernel(const uint8_t *__restrict__ keys, int32_t *counts, int64_t n)
{
    constexpr int batch = BATCH_VECS;
    __shared__ __align__(128) int32_t hist_words[256 * 32];
    char *hist = reinterpret_cast<char *>(hist_words);

    const int tid = (int)threadIdx.x;
    const int lane = tid & 31;
    const uint32_t lane4 = (uint32_t)lane * 4u;

    int64_t head = (int64_t)((16u - (uint32_t)(reinterpret_cast<uintptr_t>(keys) & 15u)) & 15u);
    if (head > n) head = n;
    const uint4 *vecs = reinterpret_cast<const uint4 *>(keys + head);
    const int64_t nvec = (n - head) >> 4;
    const int64_t stride = (int64_t)gridDim.x * BLOCK_SIZE;
    int64_t i = (int64_t)blockIdx.x * BLOCK_SIZE + tid;

    /* uniform in a warp: the last lane's last vector is inside */
    const int64_t span = (int64_t)(31 - lane) + (int64_t)(batch - 1) * stride;
    bool have = i + span < nvec;
    uint4 cur[batch], nxt[batch];
#pragma unroll batch
    for (int k = 0; k < batch; ++k) {
        cur[k] = make_uint4(0, 0, 0, 0);
        nxt[k] = make_uint4(0, 0, 0, 0);
    }
    if (have) {
#pragma unroll batch
        for (int k = 0; k < batch; ++k) cur[k] = load_keys16(vecs + i + k * stride);
    }

    for (int j = tid; j < 256 * 32 / 4; j += BLOCK_SIZE) reinterpret_cast<int4 *>(hist_words)[j] = make_int4(0, 0, 0, 0);
    __syncthreads();

    while (have) {
        const int64_t following = i + (int64_t)batch * stride;
        const bool more = following + span < nvec;
        if (more) {
#pragma unroll batch
            for (int k = 0; k < batch; ++k) nxt[k] = load_keys16(vecs + following + k * stride);
        }
#pragma unroll batch
        for (int k = 0; k < batch; ++k) count_vec_warp(hist, cur[k], lane4);
#pragma unroll batch
        for (int k = 0; k < batch; ++k) cur[k] = nxt[k];
        i = following;
        have = more;
    }
    for (; i < nvec; i += stride) {
        const uint4 v = load_keys16(vecs + i);
        count_vec(hist, v, lane4);
    }

    /* at most 15 keys before the first aligned vector and 15 after the last */
    if (blockIdx.x == 0) {
        const int64_t tail_begin = head + (nvec << 4);
        if (tid < head) bump(hist, (uint32_t)keys[tid] << 7, lane4, 1);
        if (tail_begin + tid < n) bump(hist, (uint32_t)keys[tail_begin + tid] << 7, lane4, 1);
    }
    __syncthreads();

    /* the clearing kernel has to be complete before anything is added */
    cudaGridDependencySynchronize();

    for (int b = tid; b < 256; b += BLOCK_SIZE) {
        int sum = 0;
#pragma unroll 8
        for (int k = 0; k < 32; ++k) sum += hist_words[b * 32 + ((k + b) & 31)];
        if (sum != 0) atomicAdd(&counts[b], sum);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    clear_counts_kernel<<<1, 256, 0, stream>>>(counts);
    if (n <= 0) return;

    int device = 0, sms = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (sms < 1) sms = 1;

    /* 32 KiB and 1 KiB reserved for each block, of 228 KiB; the rest stays L1 */
    constexpr int carveout = (BLOCKS_PER_SM * 33 * 100 + 227) / 228;
    cudaFuncSetAttribute(histogram_lanes_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout);

    int64_t blocks = ((n >> 4) + BLOCK_SIZE - 1) / BLOCK_SIZE;
    if (blocks < 1) blocks = 1;
    const int64_t most = (int64_t)sms * BLOCKS_PER_SM;
    if (blocks > most) blocks = most;

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3(BLOCK_SIZE);
    config.dynamicSmemBytes = 0;
    config.stream = stream;
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, histogram_lanes_kernel, keys, counts, n);
}
