/* Decoding with the keys of a sequence split among SPLITS blocks ("flash decoding": Dao et al.,
 * "Flash-Decoding for long-context inference", 2023). A warp takes a key at a time: its lanes read
 * 4 elements of the key each, and add up with shuffles. Each warp has a softmax of its own over
 * every WARPS-th key of the split; the block joins them, and a second launch joins the splits. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune SPLITS 1 2 4 8 16
// kforge: tune WARPS 1 2 4 8
// kforge: flags | --use_fast_math
#ifndef SPLITS
#define SPLITS 4
#endif
#ifndef WARPS
#define WARPS 4
#endif
#define DIM 128
#define PAGE 16
#define PARTIAL (DIM + 2) /* floats of scratch a split: maximum, sum, output */

struct __align__(8) four
{
    __nv_bfloat16 e[4];
};

__device__ __forceinline__ void read(float (&to)[4], const __nv_bfloat16 *from)
{
    const four v = *(const four *)from;
#pragma unroll
    for (int e = 0; e < 4; e++) to[e] = __bfloat162float(v.e[e]);
}

/* The factor for what was added up below `old`; 0 where nothing was. */
__device__ __forceinline__ float rescale(float old, float next)
{
    return old == -INFINITY ? 0.0f : expf(old - next);
}

__global__ void __launch_bounds__(WARPS * 32)
    attend(const __nv_bfloat16 *__restrict__ q, const __nv_bfloat16 *__restrict__ k_cache,
           const __nv_bfloat16 *__restrict__ v_cache, const int32_t *__restrict__ pages,
           const int32_t *__restrict__ lengths, float *__restrict__ partials, int kv_heads,
           int64_t max_pages)
{
    __shared__ float largest_of[WARPS], sum_of[WARPS], total_of[WARPS][DIM];
    const int head = blockIdx.x, heads = gridDim.x, s = blockIdx.y, split = blockIdx.z;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int length = lengths[s], each = (length + SPLITS - 1) / SPLITS;
    const int end = (split + 1) * each < length ? (split + 1) * each : length;
    const int group = head / (heads / kv_heads);
    const int32_t *own_pages = pages + s * max_pages;
    float query[4], total[4] = {0.0f, 0.0f, 0.0f, 0.0f}, largest = -INFINITY, sum = 0.0f;
    read(query, q + ((int64_t)s * heads + head) * DIM + lane * 4);
#pragma unroll
    for (int e = 0; e < 4; e++) query[e] *= rsqrtf((float)DIM);
#pragma unroll 2
    for (int j = split * each + warp; j < end; j += WARPS) {
        const int64_t at =
            ((own_pages[j / PAGE] * (int64_t)PAGE + j % PAGE) * kv_heads + group) * DIM + lane * 4;
        float key[4], value[4], score = 0.0f;
        read(key, k_cache + at);
        read(value, v_cache + at);
#pragma unroll
        for (int e = 0; e < 4; e++) score = fmaf(query[e], key[e], score);
#pragma unroll
        for (int offset = 16; offset > 0; offset /= 2)
            score += __shfl_xor_sync(0xffffffffu, score, offset);
        const float next = fmaxf(largest, score), scale = rescale(largest, next);
        const float weight = expf(score - next);
        sum = fmaf(sum, scale, weight);
#pragma unroll
        for (int e = 0; e < 4; e++) total[e] = fmaf(total[e], scale, weight * value[e]);
        largest = next;
    }
    if (lane == 0) {
        largest_of[warp] = largest;
        sum_of[warp] = sum;
    }
#pragma unroll
    for (int e = 0; e < 4; e++) total_of[warp][lane * 4 + e] = total[e];
    __syncthreads();

    largest = -INFINITY;
    for (int w = 0; w < WARPS; w++) largest = fmaxf(largest, largest_of[w]);
    float *to = partials + (((int64_t)s * heads + head) * SPLITS + split) * PARTIAL;
    for (int d = threadIdx.x; d < DIM; d += WARPS * 32) {
        float joined = 0.0f;
        for (int w = 0; w < WARPS; w++) joined += total_of[w][d] * rescale(largest_of[w], largest);
        to[2 + d] = joined;
    }
    if (threadIdx.x > 0) return;
    float joined = 0.0f;
    for (int w = 0; w < WARPS; w++) joined += sum_of[w] * rescale(largest_of[w], largest);
    to[0] = largest;
    to[1] = joined;
}

__global__ void __launch_bounds__(DIM)
    join(const float *__restrict__ partials, __nv_bfloat16 *__restrict__ o)
{
    const float *from = partials + (int64_t)blockIdx.x * SPLITS * PARTIAL;
    float largest = -INFINITY, sum = 0.0f, total = 0.0f;
    for (int i = 0; i < SPLITS; i++) largest = fmaxf(largest, from[i * PARTIAL]);
    for (int i = 0; i < SPLITS; i++) {
        const float scale = rescale(from[i * PARTIAL], largest);
        sum += from[i * PARTIAL + 1] * scale;
        total += from[i * PARTIAL + 2 + threadIdx.x] * scale;
    }
    o[(int64_t)blockIdx.x * DIM + threadIdx.x] = __float2bfloat16(total / sum);
}

extern "C" void paged_attention(const __nv_bfloat16 *q, const __nv_bfloat16 *k_cache,
                                const __nv_bfloat16 *v_cache, const int32_t *pages,
                                const int32_t *lengths, __nv_bfloat16 *o, void *scratch,
                                int64_t sequences, int64_t heads, int64_t kv_heads,
                                int64_t max_pages, cudaStream_t stream)
{
    attend<<<dim3((unsigned)heads, (unsigned)sequences, SPLITS), WARPS * 32, 0, stream>>>(
        q, k_cache, v_cache, pages, lengths, (float *)scratch, (int)kv_heads, max_pages);
    join<<<(unsigned)(sequences * heads), DIM, 0, stream>>>((const float *)scratch, o);
}
