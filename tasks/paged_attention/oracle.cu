/* o_sh = sum_t exp(z_t - m) V_t / sum_t exp(z_t - m), z_t = q_sh . K_t / sqrt(128), m = max_t z_t,
 * in float64, over the pages of a sequence (Kwon et al., "Efficient memory management for large
 * language model serving with PagedAttention", 2023). One block a sequence and head: a thread has
 * every 128th key for the scores, which are computed twice, and one column of the output. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define DIM 128
#define PAGE 16

struct cache {
    const int32_t *pages; /* of the sequence */
    int64_t kv_heads, group;
};

/* Returns where key or value t begins. */
__device__ int64_t place(cache c, int64_t t)
{
    return ((c.pages[t / PAGE] * (int64_t)PAGE + t % PAGE) * c.kv_heads + c.group) * DIM;
}

__device__ double score(const double *q, const __nv_bfloat16 *key)
{
    double sum = 0;
    for (int d = 0; d < DIM; d++) sum += q[d] * (double)__bfloat162float(key[d]);
    return sum / sqrt((double)DIM);
}

__global__ void paged_attention_exact(const __nv_bfloat16 *q, const __nv_bfloat16 *k_cache,
                                      const __nv_bfloat16 *v_cache, const int32_t *pages,
                                      const int32_t *lengths, double *o, int64_t kv_heads,
                                      int64_t max_pages)
{
    __shared__ double query[DIM], value[DIM];
    const int64_t head = blockIdx.x, heads = gridDim.x, s = blockIdx.y, length = lengths[s];
    const cache c = {pages + s * max_pages, kv_heads, head / (heads / kv_heads)};
    const int t = threadIdx.x;
    query[t] = __bfloat162float(q[(s * heads + head) * DIM + t]);
    __syncthreads();

    double largest = -INFINITY;
    for (int64_t j = t; j < length; j += DIM)
        largest = fmax(largest, score(query, k_cache + place(c, j)));
    value[t] = largest;
    __syncthreads();
    for (int u = 0; u < DIM; u++) largest = fmax(largest, value[u]);

    double sum = 0, total = 0;
    for (int64_t begin = 0; begin < length; begin += DIM) {
        const int count = (int)(length - begin < DIM ? length - begin : DIM);
        __syncthreads();
        if (t < count) value[t] = exp(score(query, k_cache + place(c, begin + t)) - largest);
        __syncthreads();
        for (int e = 0; e < count; e++) {
            sum += value[e];
            total += value[e] * (double)__bfloat162float(v_cache[place(c, begin + e) + t]);
        }
    }
    o[(s * heads + head) * DIM + t] = total / sum;
}

extern "C" void paged_attention_oracle(const __nv_bfloat16 *q, const __nv_bfloat16 *k_cache,
                                       const __nv_bfloat16 *v_cache, const int32_t *pages,
                                       const int32_t *lengths, double *o, void *scratch,
                                       int64_t sequences, int64_t heads, int64_t kv_heads,
                                       int64_t max_pages, cudaStream_t stream)
{
    (void)scratch;
    paged_attention_exact<<<dim3((unsigned)heads, (unsigned)sequences), DIM, 0, stream>>>(
        q, k_cache, v_cache, pages, lengths, o, kv_heads, max_pages);
}
