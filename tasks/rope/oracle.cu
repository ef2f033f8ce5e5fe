/* Rotary position embedding (Su et al., "RoFormer", 2021) in float64, with the halves of a head as
 * the pairs that turn (the order of GPT-NeoX). One thread a pair. The table stands for
 * cos(p theta_i) and sin(p theta_i); the formula holds for any numbers in it. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void rotate(double *x, const float *table, const int64_t *positions, int64_t heads,
                       int64_t half, int64_t pairs)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= pairs) return;
    const int64_t i = n % half, head = n / half; /* head of all tokens */
    const float *row = table + positions[head / heads] * 2 * half;
    const double c = row[i], s = row[half + i];
    double *a = x + head * 2 * half + i, *b = a + half;
    const double first = *a, second = *b;
    *a = first * c - second * s;
    *b = second * c + first * s;
}

extern "C" void rope_oracle(const int64_t *positions, const float *table, double *q, double *k,
                            int64_t tokens, int64_t q_heads, int64_t kv_heads, int64_t dim,
                            int64_t max_position, cudaStream_t stream)
{
    (void)max_position;
    const int64_t of_q = tokens * q_heads * (dim / 2), of_k = tokens * kv_heads * (dim / 2);
    rotate<<<(unsigned)((of_q + 255) / 256), 256, 0, stream>>>(q, table, positions, q_heads,
                                                               dim / 2, of_q);
    rotate<<<(unsigned)((of_k + 255) / 256), 256, 0, stream>>>(k, table, positions, kv_heads,
                                                               dim / 2, of_k);
}
