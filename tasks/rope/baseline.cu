/* Rotary position embedding, one block a token. Its threads walk over the pairs of all heads of q,
 * then of k, one pair at a time. Cost: two loads and two stores of 2 bytes a pair, and two integer
 * divisions by numbers that the compiler doesn't know. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ void rotate(__nv_bfloat16 *x, const float *row, int heads, int half)
{
    for (int n = threadIdx.x; n < heads * half; n += blockDim.x) {
        const int head = n / half, i = n % half;
        __nv_bfloat16 *a = x + head * 2 * half + i, *b = a + half;
        const float c = row[i], s = row[half + i];
        const float first = __bfloat162float(*a), second = __bfloat162float(*b);
        *a = __float2bfloat16(first * c - second * s);
        *b = __float2bfloat16(second * c + first * s);
    }
}

__global__ void rope_kernel(const int64_t *positions, const float *table, __nv_bfloat16 *q,
                            __nv_bfloat16 *k, int q_heads, int kv_heads, int dim)
{
    const int64_t token = blockIdx.x;
    const float *row = table + positions[token] * dim;
    rotate(q + token * q_heads * dim, row, q_heads, dim / 2);
    rotate(k + token * kv_heads * dim, row, kv_heads, dim / 2);
}

extern "C" void rope(const int64_t *positions, const float *table, __nv_bfloat16 *q,
                     __nv_bfloat16 *k, int64_t tokens, int64_t q_heads, int64_t kv_heads,
                     int64_t dim, int64_t max_position, cudaStream_t stream)
{
    (void)max_position;
    rope_kernel<<<(unsigned)tokens, 256, 0, stream>>>(positions, table, q, k, (int)q_heads,
                                                      (int)kv_heads, (int)dim);
}
