#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune HIST_BLOCK_SIZE 256 512 1024
// kforge: tune HIST_BLOCKS_PER_SM 1 2 3 4 5 6
// kforge: tune HIST_VECTORS 1 2 4
// kforge: tune HIST_PLAIN_ADD 0 1
// kforge: require HIST_BLOCK_SIZE * HIST_BLOCKS_PER_SM <= 2048
#ifndef HIST_BLOCK_SIZE
#define HIST_BLOCK_SIZE 512
#endif
#ifndef HIST_BLOCKS_PER_SM
#define HIST_BLOCKS_PER_SM 3
#endif
#ifndef HIST_VECTORS
#define HIST_VECTORS 4
#endif
#ifndef HIST_PLAIN_ADD
#define HIST_PLAIN_ADD 0
#endif

/* hist is [256 bins][32 lanes]: a bin is 128 bytes, a lane keeps to its own bank. */
__device__ __forceinline__ void bump(int32_t *hist, uint32_t offset, int32_t one)
{
    int32_t *cell = reinterpret_cast<int32_t *>(reinterpret_cast<char *>(hist) + offset);
#if HIST_PLAIN_ADD
    atomicAdd(cell, one); /* the value is not known at compile time: plain add */
#else
    (void)one;
    atomicAdd(cell, 1);
#endif
}

__device__ __forceinline__ void count_word(int32_t *hist, uint32_t word, uint32_t lane4, int32_t one)
{
    bump(hist, ((word << 7) & 0x7f80u) | lane4, one);
    bump(hist, ((word >> 1) & 0x7f80u) | lane4, one);
    bump(hist, ((word >> 9) & 0x7f80u) | lane4, one);
    bump(hist, ((word >> 17) & 0x7f80u) | lane4, one);
}

__device__ __forceinline__ void count_vector(int32_t *hist, const uint4 &w, uint32_t lane4, int32_t one)
{
    count_word(hist, w.x, lane4, one);
    count_word(hist, w.y, lane4, one);
    count_word(hist, w.z, lane4, one);
    count_word(hist, w.w, lane4, one);
}

__global__ void __launch_bounds__(HIST_BLOCK_SIZE, HIST_BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, int64_t head, int64_t nvec, int32_t one)
{
    __shared__ __align__(128) int32_t hist[256 * 32];
    constexpr int unrolled = HIST_VECTORS;

    const int tid = threadIdx.x;
    const uint32_t lane4 = (uint32_t)(tid & 31) * 4u;
    const uint4 *vec = reinterpret_cast<const uint4 *>(keys + head);
    const int64_t stride = (int64_t)gridDim.x * HIST_BLOCK_SIZE;
    const int64_t span = stride * unrolled;
    int64_t i = (int64_t)blockIdx.x * HIST_BLOCK_SIZE + tid;

    /* The first loads are under way while shared memory is cleared. */
    uint4 v[unrolled];
    bool full = i + (span - stride) < nvec;
    if (full) {
#pragma unroll unrolled
        for (int u = 0; u < unrolled; u++) v[u] = __ldcs(vec + i + u * stride);
    }

    for (int k = tid; k < 256 * 32 / 4; k += HIST_BLOCK_SIZE) reinterpret_cast<int4 *>(hist)[k] = make_int4(0, 0, 0, 0);
    __syncthreads();

    while (full) {
        const int64_t next = i + span;
        const bool next_full = next + (span - stride) < nvec;
#pragma unroll unrolled
        for (int u = 0; u < unrolled; u++) {
            const uint4 w = v[u];
            if (next_full) v[u] = __ldcs(vec + next + u * stride);
            count_vector(hist, w, lane4, one);
        }
        i = next;
        full = next_full;
    }

    /* Fewer than HIST_VECTORS vectors are left for this thread: load them all, then count them. */
#pragma unroll unrolled
    for (int u = 0; u < unrolled; u++) {
        v[u] = make_uint4(0u, 0u, 0u, 0u);
        if (i + u * stride < nvec) v[u] = __ldcs(vec + i + u * stride);
    }
#pragma unroll unrolled
    for (int u = 0; u < unrolled; u++) {
        if (i + u * stride < nvec) count_vector(hist, v[u], lane4, one);
    }

    /* Bytes before the first aligned vector and after the last: at most 15 each. */
    if (blockIdx.x == 0) {
        const int64_t tail = head + nvec * 16;
        if (tid < head) bump(hist, ((uint32_t)keys[tid] << 7) | lane4, one);
        if (tail + tid < n) bump(hist, ((uint32_t)keys[tail + tid] << 7) | lane4, one);
    }
    __syncthreads();

    for (int b = tid; b < 256; b += HIST_BLOCK_SIZE) {
        int32_t sum = 0;
#pragma unroll
        for (int j = 0; j < 32; j++) sum += hist[b * 32 + ((j + b) & 31)];
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
    if (sms <= 0) sms = 1;

    /* Just enough shared memory for the resident blocks (32 KiB + 1 KiB each); the rest stays L1 for loads in flight. */
    int carveout = (HIST_BLOCKS_PER_SM * 33 * 100 + 227) / 228;
    if (carveout > 100) carveout = 100;
    cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout);

    int64_t head = (int64_t)((16u - (unsigned)((uintptr_t)keys & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t nvec = (n - head) / 16;

    int64_t blocks = (nvec + HIST_BLOCK_SIZE - 1) / HIST_BLOCK_SIZE;
    const int64_t most = (int64_t)sms * HIST_BLOCKS_PER_SM;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;

    histogram_kernel<<<(unsigned)blocks, HIST_BLOCK_SIZE, 0, stream>>>(keys, counts, n, head, nvec, 1);
}
