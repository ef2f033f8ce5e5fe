#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_SIZE 256 512 1024
// kforge: tune BLOCKS_PER_SM 1 2 3 4 6
// kforge: tune VECTORS 1 2 4
// kforge: tune UNIFORM_PATH 0 1
// kforge: tune CONST_INCREMENT 0 1
// kforge: require BLOCK_SIZE * BLOCKS_PER_SM <= 2048
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 1024
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 2
#endif
#ifndef VECTORS
#define VECTORS 2
#endif
/* 1: a warp whose 512 loaded keys are pairwise equal within each lane adds 16 at once */
#ifndef UNIFORM_PATH
#define UNIFORM_PATH 1
#endif
/* 1: the increment is the literal 1 (the compiler may pick its increment form); 0: it is an argument (plain shared add) */
#ifndef CONST_INCREMENT
#define CONST_INCREMENT 1
#endif

__device__ __forceinline__ void count_key(int32_t *mine, uint32_t key, int32_t one)
{
#if CONST_INCREMENT
    (void)one;
    atomicAdd(mine + key * 32u, 1);
#else
    atomicAdd(mine + key * 32u, one);
#endif
}

__device__ __forceinline__ void count_word(int32_t *mine, uint32_t word, int32_t one)
{
    count_key(mine, __byte_perm(word, 0u, 0x4440), one);
    count_key(mine, __byte_perm(word, 0u, 0x4441), one);
    count_key(mine, __byte_perm(word, 0u, 0x4442), one);
    count_key(mine, __byte_perm(word, 0u, 0x4443), one);
}

__device__ __forceinline__ void count_vector(int32_t *mine, const uint4 &v, int32_t one)
{
    count_word(mine, v.x, one);
    count_word(mine, v.y, one);
    count_word(mine, v.z, one);
    count_word(mine, v.w, one);
}

__global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_SM)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *__restrict__ counts, int64_t n, int64_t head, int64_t nvec, int32_t one)
{
    /* counter of bin b for lane l: local[b * 32 + l], so a lane stays in its own bank */
    __shared__ __align__(16) int32_t local[256 * 32];

    const int tid = (int)threadIdx.x;
    const int lane = tid & 31;

    for (int i = tid; i < 256 * 32 / 4; i += BLOCK_SIZE) reinterpret_cast<int4 *>(local)[i] = make_int4(0, 0, 0, 0);
    __syncthreads();

    int32_t *mine = local + lane;
    const uint4 *vec = reinterpret_cast<const uint4 *>(keys + head);

    constexpr int unrolled = VECTORS;
    const int64_t stride = (int64_t)gridDim.x * BLOCK_SIZE;
    /* first vector of this warp: the loop condition is the same for all of its lanes */
    int64_t base = (int64_t)blockIdx.x * BLOCK_SIZE + (tid - lane);

    for (; base + (unrolled - 1) * stride + 32 <= nvec; base += unrolled * stride) {
        uint4 v[unrolled];
#pragma unroll unrolled
        for (int j = 0; j < unrolled; j++) v[j] = __ldcs(vec + base + lane + j * stride);
#pragma unroll unrolled
        for (int j = 0; j < unrolled; j++) {
#if UNIFORM_PATH
            const uint32_t first = v[j].x;
            const uint32_t spread = __byte_perm(first, 0u, 0x0000);
            const uint32_t differ = (first ^ spread) | (v[j].y ^ spread) | (v[j].z ^ spread) | (v[j].w ^ spread);
            if (__all_sync(0xffffffffu, differ == 0u)) {
                atomicAdd(mine + (first & 255u) * 32u, 16);
            } else {
                count_vector(mine, v[j], one);
            }
#else
            count_vector(mine, v[j], one);
#endif
        }
    }

    for (int64_t i = base + lane; i < nvec; i += stride) {
        const uint4 v = __ldcs(vec + i);
        count_vector(mine, v, one);
    }

    /* keys ahead of the first aligned vector and behind the last one: fewer than 16 each */
    if (blockIdx.x == 0) {
        if (tid < head) count_key(mine, keys[tid], one);
        const int64_t rest = head + nvec * 16 + tid;
        if (rest < n) count_key(mine, keys[rest], one);
    }

    __syncthreads();

    /* one thread a bin; the rotation keeps the 32 lanes in 32 different banks */
    if (tid < 256) {
        int32_t sum = 0;
#pragma unroll 8
        for (int j = 0; j < 32; j++) sum += local[tid * 32 + ((j + tid) & 31)];
        if (sum != 0) atomicAdd(&counts[tid], sum);
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

    int64_t head = (int64_t)((16u - (unsigned)((uintptr_t)keys & 15u)) & 15u);
    if (head > n) head = n;
    const int64_t nvec = (n - head) / 16;

    int64_t blocks = (nvec + BLOCK_SIZE - 1) / BLOCK_SIZE;
    const int64_t most = (int64_t)sms * BLOCKS_PER_SM;
    if (blocks > most) blocks = most;
    if (blocks < 1) blocks = 1;

    histogram_kernel<<<(unsigned)blocks, BLOCK_SIZE, 0, stream>>>(keys, counts, n, head, nvec, 1);
}
