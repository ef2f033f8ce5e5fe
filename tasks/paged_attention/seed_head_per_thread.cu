/* Decoding with a thread a sequence and head, without shared memory or barriers: a score is added
 * up in LANES independent sums, which a CPU's compiler turns into SIMD code, and the output is
 * rescaled only when the maximum grows. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune LANES 4 8 16 32
// kforge: tune THREADS 1 2 4 8
#ifndef LANES
#define LANES 16
#endif
#ifndef THREADS
#define THREADS 1
#endif
#define DIM 128
#define PAGE 16

__global__ void paged_attention_kernel(const __nv_bfloat16 *__restrict__ q,
                                       const __nv_bfloat16 *__restrict__ k_cache,
                                       const __nv_bfloat16 *__restrict__ v_cache,
                                       const int32_t *__restrict__ pages,
                                       const int32_t *__restrict__ lengths,
                                       __nv_bfloat16 *__restrict__ o, int64_t sequences, int heads,
                                       int kv_heads, int64_t max_pages)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= sequences * heads) return;
    const int64_t s = n / heads;
    const int length = lengths[s], group = (int)(n % heads) / (heads / kv_heads);
    float query[DIM], total[DIM], largest = -INFINITY, sum = 0.0f;
    for (int d = 0; d < DIM; d++) {
        query[d] = __bfloat162float(q[n * DIM + d]) * 0.0883883476f; /* 1 / sqrt(128) */
        total[d] = 0.0f;
    }
    for (int j = 0; j < length; j++) {
        const int64_t page = pages[s * max_pages + j / PAGE];
        const int64_t at = ((page * PAGE + j % PAGE) * kv_heads + group) * DIM;
        float part[LANES], score = 0.0f;
        for (int l = 0; l < LANES; l++) part[l] = 0.0f;
        for (int d = 0; d < DIM; d += LANES)
            for (int l = 0; l < LANES; l++)
                part[l] = fmaf(query[d + l], __bfloat162float(k_cache[at + d + l]), part[l]);
        for (int l = 0; l < LANES; l++) score += part[l];
        if (score > largest) {
            const float rescale = expf(largest - score);
            for (int d = 0; d < DIM; d++) total[d] *= rescale;
            sum *= rescale;
            largest = score;
        }
        const float weight = expf(score - largest);
        for (int d = 0; d < DIM; d++)
            total[d] = fmaf(weight, __bfloat162float(v_cache[at + d]), total[d]);
        sum += weight;
    }
    for (int d = 0; d < DIM; d++) o[n * DIM + d] = __float2bfloat16(total[d] / sum);
}

extern "C" void paged_attention(const __nv_bfloat16 *q, const __nv_bfloat16 *k_cache,
                                const __nv_bfloat16 *v_cache, const int32_t *pages,
                                const int32_t *lengths, __nv_bfloat16 *o, void *scratch,
                                int64_t sequences, int64_t heads, int64_t kv_heads,
                                int64_t max_pages, cudaStream_t stream)
{
    (void)scratch;
    paged_attention_kernel<<<(unsigned)((sequences * heads + THREADS - 1) / THREADS), THREADS, 0,
                             stream>>>(q, k_cache, v_cache, pages, lengths, o, sequences,
                                       (int)heads, (int)kv_heads, max_pages);
}
