#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_THREADS 256 512 768 1024
// kforge: tune BLOCKS_PER_SM 1 2 3 4 6
// kforge: tune VECS_PER_THREAD 1 2 4 8
// kforge: tune RUN_CHECK 0 1
// kforge: tune INCREMENT_MODE 0 1
// kforge: require BLOCK_THREADS * BLOCKS_PER_SM <= 2048
// kforge: require BLOCK_THREADS * BLOCKS_PER_SM * VECS_PER_THREAD <= 4096
#ifndef BLOCK_THREADS
#define BLOCK_THREADS 512
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 2
#endif
#ifndef VECS_PER_THREAD
#define VECS_PER_THREAD 4
#endif
#ifndef RUN_CHECK
#define RUN_CHECK 1
#endif
#ifndef INCREMENT_MODE
#define INCREMENT_MODE 0
#endif

/* Adds to the calling lane's own column; addr is an address in the shared window. */
__device__ __forceinline__ void bump(uint32_t addr, uint32_t one)
{
#if INCREMENT_MODE == 0
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(addr) : "memory");
#else
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(addr), "r"(one) : "memory");
#endif
}

__device__ __forceinline__ void count_word(uint32_t w, uint32_t lane_base, uint32_t one)
{
    bump(lane_base + ((w & 0xffu) << 7), one);
    bump(lane_base + (((w >> 8) & 0xffu) << 7), one);
    bump(lane_base + (((w >> 16) & 0xffu) << 7), one);
    bump(lane_base + ((w >> 24) << 7), one);
}

__device__ __forceinline__ void count_vec(const uint4 v, uint32_t lane_base, uint32_t one)
{
#if RUN_CHECK
    const uint32_t same = __byte_perm(v.x, 0u, 0x0000);
    const uint32_t diff = (v.x ^ same) | (v.y ^ same) | (v.z ^ same) | (v.w ^ same);
    if (diff == 0u) {
        asm volatile("red.shared.add.u32 [%0], 16;" ::"r"(lane_base + ((v.x & 0xffu) << 7)) : "memory");
        return;
    }
#endif
    count_word(v.x, lane_base, one);
    count_word(v.y, lane_base, one);
    count_word(v.z, lane_base, one);
    count_word(v.w, lane_base, one);
}

__global__ void clear_counts_kernel(int32_t *counts)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    counts[threadIdx.x] = 0;
}

__global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *counts, int64_t n, uint32_t one)
{
    __shared__ __align__(128) uint32_t table[256 * 32];
    constexpr int vecs = VECS_PER_THREAD;
    const int tid = (int)threadIdx.x;

    for (int i = tid; i < 256 * 32 / 4; i += BLOCK_THREADS)
        reinterpret_cast<uint4 *>(table)[i] = make_uint4(0u, 0u, 0u, 0u);
    __syncthreads();

    const uint32_t lane_base = (uint32_t)__cvta_generic_to_shared(table) + (uint32_t)(tid & 31) * 4u;

    /* Bytes ahead of the first 16-byte boundary, whole vectors, bytes after the last one. */
    int64_t head = (int64_t)((16u - (uint32_t)(reinterpret_cast<uintptr_t>(keys) & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t total = (n - head) >> 4;
    const int64_t tail_begin = head + (total << 4);
    const uint4 *data = reinterpret_cast<const uint4 *>(keys + head);

    if (blockIdx.x == 0) {
        if (tid < head) bump(lane_base + ((uint32_t)keys[tid] << 7), one);
        if (tid < n - tail_begin) bump(lane_base + ((uint32_t)keys[tail_begin + tid] << 7), one);
    }

    /* An equal contiguous share for each block. */
    const int64_t share = total / gridDim.x;
    const int64_t extra = total - share * gridDim.x;
    const int64_t b = blockIdx.x;
    const int64_t begin = b * share + (b < extra ? b : extra);
    const int64_t length = share + (b < extra ? 1 : 0);
    const int64_t tiles = length / (BLOCK_THREADS * vecs);

    const uint4 *p = data + begin + tid;
    const uint4 *const stop = data + begin + length;

    if (tiles > 0) {
        uint4 cur[vecs];
#pragma unroll vecs
        for (int j = 0; j < vecs; j++) cur[j] = __ldcs(p + j * BLOCK_THREADS);
        p += BLOCK_THREADS * vecs;
#pragma unroll 1
        for (int64_t t = 1; t < tiles; t++) {
            uint4 nxt[vecs];
#pragma unroll vecs
            for (int j = 0; j < vecs; j++) nxt[j] = __ldcs(p + j * BLOCK_THREADS);
            p += BLOCK_THREADS * vecs;
#pragma unroll vecs
            for (int j = 0; j < vecs; j++) count_vec(cur[j], lane_base, one);
#pragma unroll vecs
            for (int j = 0; j < vecs; j++) cur[j] = nxt[j];
        }
#pragma unroll vecs
        for (int j = 0; j < vecs; j++) count_vec(cur[j], lane_base, one);
    }
#pragma unroll 1
    for (; p < stop; p += BLOCK_THREADS) count_vec(__ldcs(p), lane_base, one);

    __syncthreads();

    /* The output is cleared by the kernel before: wait for it here only. */
    asm volatile("griddepcontrol.wait;" ::: "memory");

    for (int bin = tid; bin < 256; bin += BLOCK_THREADS) {
        uint32_t sum = 0;
#pragma unroll
        for (int j = 0; j < 32; j++) sum += table[bin * 32 + ((j + bin) & 31)];
        if (sum != 0u) atomicAdd(&counts[bin], (int32_t)sum);
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
    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                         (int)cudaSharedmemCarveoutMaxShared);

    int64_t blocks = (int64_t)sms * BLOCKS_PER_SM;
    const int64_t wanted = n / ((int64_t)BLOCK_THREADS * VECS_PER_THREAD * 16) + 1;
    if (blocks > wanted) blocks = wanted;

    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks, 1, 1);
    config.blockDim = dim3(BLOCK_THREADS, 1, 1);
    config.dynamicSmemBytes = 0;
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, histogram_kernel, keys, counts, n, (uint32_t)1);
}
