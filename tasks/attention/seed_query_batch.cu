/* Attention with an online softmax and without shared memory or barriers: a thread owns QUERIES queries and keeps them transposed
 * in local memory, so that each element of a key or value, loaded once, meets all of its queries in a loop over consecutive
 * floats, which a CPU's compiler turns into SIMD FMAs. Keys are taken KEYS at a time: their scores, one rescaling of what was
 * added so far, their values. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune QUERIES 1 8 16 32 64
// kforge: tune KEYS 4 8 16 32
// kforge: tune THREADS 1 2 32 64
// kforge: require QUERIES * THREADS <= 512
#ifndef QUERIES
#define QUERIES 16
#endif
#ifndef KEYS
#define KEYS 8
#endif
#ifndef THREADS
#define THREADS 1
#endif
#define DIM 64

/* e^x for x <= 0: 2^n 2^f with n = round(x log2 e) and |f| <= 1/2; the polynomial is a minimax fit of 2^f, relative error 2e-9.
 * Below -87 the result stays at about 1e-38. */
__device__ __forceinline__ float exponential(float x)
{
    x = x < -87.0f ? -87.0f : x;
    float whole = rintf(x * 1.44269502f);
    float f = fmaf(x, 1.44269502f, -whole);
    f = fmaf(x, 1.92596303e-8f, f); /* log2 e = 1.44269502 + 1.92596303e-8 */
    float p = 1.53458081e-4f;
    p = fmaf(p, f, 1.33999309e-3f);
    p = fmaf(p, f, 9.61848907e-3f);
    p = fmaf(p, f, 5.55032864e-2f);
    p = fmaf(p, f, 2.40226462e-1f);
    p = fmaf(p, f, 6.93147182e-1f);
    p = fmaf(p, f, 1.0f);
    return p * __int_as_float(((int)whole + 127) << 23);
}

__global__ void attention_kernel(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v,
                                 float *__restrict__ o, int64_t seq)
{
    const int64_t first = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * QUERIES;
    if (first >= seq) return;
    const int count = (int)(seq - first < QUERIES ? seq - first : QUERIES);
    float query[DIM][QUERIES], output[DIM][QUERIES], largest[QUERIES], sum[QUERIES];
    for (int i = 0; i < QUERIES; i++) { /* the last thread repeats its last query */
        const float *from = q + (first + (i < count ? i : count - 1)) * DIM;
        for (int d = 0; d < DIM; d++) {
            query[d][i] = from[d] * 0.125f; /* 1 / sqrt(64) */
            output[d][i] = 0.0f;
        }
        largest[i] = -1e30f;
        sum[i] = 0.0f;
    }

    for (int64_t j0 = 0; j0 < seq; j0 += KEYS) {
        const int keys = (int)(seq - j0 < KEYS ? seq - j0 : KEYS);
        float score[KEYS][QUERIES], scale[QUERIES];
        for (int i = 0; i < QUERIES; i++) scale[i] = largest[i];
        for (int j = 0; j < keys; j++) {
            float total[QUERIES];
            for (int i = 0; i < QUERIES; i++) total[i] = 0.0f;
            for (int d = 0; d < DIM; d++)
                for (int i = 0; i < QUERIES; i++) total[i] = fmaf(query[d][i], k[(j0 + j) * DIM + d], total[i]);
            for (int i = 0; i < QUERIES; i++) {
                score[j][i] = total[i];
                largest[i] = total[i] > largest[i] ? total[i] : largest[i];
            }
        }
        for (int i = 0; i < QUERIES; i++) {
            scale[i] = exponential(scale[i] - largest[i]);
            sum[i] *= scale[i];
        }
        for (int j = 0; j < keys; j++)
            for (int i = 0; i < QUERIES; i++) {
                score[j][i] = exponential(score[j][i] - largest[i]);
                sum[i] += score[j][i];
            }
        for (int d = 0; d < DIM; d++) {
            float total[QUERIES];
            for (int i = 0; i < QUERIES; i++) total[i] = output[d][i] * scale[i];
            for (int j = 0; j < keys; j++)
                for (int i = 0; i < QUERIES; i++) total[i] = fmaf(score[j][i], v[(j0 + j) * DIM + d], total[i]);
            for (int i = 0; i < QUERIES; i++) output[d][i] = total[i];
        }
    }

    for (int i = 0; i < count; i++)
        for (int d = 0; d < DIM; d++) o[(first + i) * DIM + d] = output[d][i] / sum[i];
}

extern "C" void attention(const float *q, const float *k, const float *v, float *o, int64_t seq, cudaStream_t stream)
{
    const int queries = QUERIES * THREADS;
    attention_kernel<<<(unsigned)((seq + queries - 1) / queries), THREADS, 0, stream>>>(q, k, v, o, seq);
}
