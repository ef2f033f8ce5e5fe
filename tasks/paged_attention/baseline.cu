/* Decoding with an online softmax, one block a sequence and head (the first version of
 * PagedAttention: Kwon et al., 2023, section 5.1): 128 keys at a time, a thread computes the score
 * of one key, then adds up one column of the values. Cost: each thread reads a key of its own, so
 * that the reads of keys are not coalesced; heads of a group read the same keys; a long sequence
 * keeps one block busy while the others wait. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define DIM 128
#define PAGE 16

__global__ void paged_attention_kernel(const __nv_bfloat16 *q, const __nv_bfloat16 *k_cache,
                                       const __nv_bfloat16 *v_cache, const int32_t *pages,
                                       const int32_t *lengths, __nv_bfloat16 *o, int kv_heads,
                                       int64_t max_pages)
{
    __shared__ float query[DIM], weight[DIM], largest_of[DIM];
    const int head = blockIdx.x, heads = gridDim.x, s = blockIdx.y, t = threadIdx.x;
    const int length = lengths[s], group = head / (heads / kv_heads);
    const int32_t *own_pages = pages + s * max_pages;
    const int64_t row = ((int64_t)s * heads + head) * DIM;
    query[t] = __bfloat162float(q[row + t]) * rsqrtf((float)DIM);
    __syncthreads();

    float largest = -INFINITY, sum = 0.0f, total = 0.0f;
    for (int begin = 0; begin < length; begin += DIM) {
        const int count = length - begin < DIM ? length - begin : DIM, j = begin + t;
        float score = -INFINITY;
        if (t < count) {
            const __nv_bfloat16 *key =
                k_cache +
                ((own_pages[j / PAGE] * (int64_t)PAGE + j % PAGE) * kv_heads + group) * DIM;
            score = 0.0f;
            for (int d = 0; d < DIM; d++) score += query[d] * __bfloat162float(key[d]);
        }
        largest_of[t] = score;
        __syncthreads();
        for (int half = DIM / 2; half > 0; half /= 2) {
            if (t < half) largest_of[t] = fmaxf(largest_of[t], largest_of[t + half]);
            __syncthreads();
        }
        const float next = fmaxf(largest, largest_of[0]), rescale = expf(largest - next);
        weight[t] = expf(score - next);
        __syncthreads();
        sum *= rescale;
        total *= rescale;
        for (int e = 0; e < count; e++) {
            const int i = begin + e;
            const int64_t at =
                ((own_pages[i / PAGE] * (int64_t)PAGE + i % PAGE) * kv_heads + group) * DIM;
            sum += weight[e];
            total += weight[e] * __bfloat162float(v_cache[at + t]);
        }
        largest = next;
        __syncthreads();
    }
    o[row + t] = __float2bfloat16(total / sum);
}

extern "C" void paged_attention(const __nv_bfloat16 *q, const __nv_bfloat16 *k_cache,
                                const __nv_bfloat16 *v_cache, const int32_t *pages,
                                const int32_t *lengths, __nv_bfloat16 *o, void *scratch,
                                int64_t sequences, int64_t heads, int64_t kv_heads,
                                int64_t max_pages, cudaStream_t stream)
{
    (void)scratch;
    paged_attention_kernel<<<dim3((unsigned)heads, (unsigned)sequences), DIM, 0, stream>>>(
        q, k_cache, v_cache, pages, lengths, o, (int)kv_heads, max_pages);
}
