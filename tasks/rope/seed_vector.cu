/* Rotary position embedding with VECTOR pairs a thread: both halves of a head are read and written
 * as vectors, and the table's cosines and sines are loaded once for HEADS heads. Heads with a half
 * that is no multiple of VECTOR are done pair by pair. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256
// kforge: tune VECTOR 1 2 4 8
// kforge: tune HEADS 1 2 4 8
#ifndef THREADS
#define THREADS 128
#endif
/* pairs a thread */
#ifndef VECTOR
#define VECTOR 4
#endif
/* heads a thread */
#ifndef HEADS
#define HEADS 2
#endif

template <int N> struct __align__(2 * N) pack
{
    __nv_bfloat16 e[N];
};

template <int N>
__global__ void __launch_bounds__(THREADS)
    rope_kernel(const int64_t *__restrict__ positions, const float *__restrict__ table,
                __nv_bfloat16 *__restrict__ q, __nv_bfloat16 *__restrict__ k, int64_t tokens,
                int q_heads, int kv_heads, int half)
{
    const int parts = half / N, all = q_heads + kv_heads, groups = (all + HEADS - 1) / HEADS;
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t token = n / (parts * groups);
    if (token >= tokens) return;
    const int rest = (int)(n % (parts * groups)), first = rest / parts * HEADS;
    const int i = rest % parts * N;
    const float *row = table + positions[token] * 2 * half;
    float c[N], s[N];
#pragma unroll
    for (int e = 0; e < N; e++) {
        c[e] = row[i + e];
        s[e] = row[half + i + e];
    }
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
        const int head = first + h;
        if (head >= all) return;
        __nv_bfloat16 *x = head < q_heads ? q + (token * q_heads + head) * 2 * half
                                          : k + (token * kv_heads + head - q_heads) * 2 * half;
        pack<N> *low = (pack<N> *)(x + i), *high = (pack<N> *)(x + half + i);
        pack<N> a = *low, b = *high;
#pragma unroll
        for (int e = 0; e < N; e++) {
            const float first_half = __bfloat162float(a.e[e]),
                        second_half = __bfloat162float(b.e[e]);
            a.e[e] = __float2bfloat16(first_half * c[e] - second_half * s[e]);
            b.e[e] = __float2bfloat16(second_half * c[e] + first_half * s[e]);
        }
        *low = a;
        *high = b;
    }
}

template <int N>
static void launch(const int64_t *positions, const float *table, __nv_bfloat16 *q, __nv_bfloat16 *k,
                   int64_t tokens, int q_heads, int kv_heads, int half, cudaStream_t stream)
{
    const int64_t groups = (q_heads + kv_heads + HEADS - 1) / HEADS;
    const int64_t blocks = (tokens * groups * (half / N) + THREADS - 1) / THREADS;
    rope_kernel<N><<<(unsigned)blocks, THREADS, 0, stream>>>(positions, table, q, k, tokens,
                                                             q_heads, kv_heads, half);
}

extern "C" void rope(const int64_t *positions, const float *table, __nv_bfloat16 *q,
                     __nv_bfloat16 *k, int64_t tokens, int64_t q_heads, int64_t kv_heads,
                     int64_t dim, int64_t max_position, cudaStream_t stream)
{
    (void)max_position;
    const int half = (int)dim / 2;
    if (half % VECTOR == 0)
        launch<VECTOR>(positions, table, q, k, tokens, (int)q_heads, (int)kv_heads, half, stream);
    else
        launch<1>(positions, table, q, k, tokens, (int)q_heads, (int)kv_heads, half, stream);
}
