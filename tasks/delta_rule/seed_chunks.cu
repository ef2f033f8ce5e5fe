/* The delta rule CHUNK tokens at a time (Yang et al., "Parallelizing linear transformers with the
 * delta rule over sequence length", 2024, section 3). With r_t the normalised keys, S the state in
 * front of a chunk and u_t = beta_t (v_t - S_{t-1} r_t), the state is S_t = S + sum_{s<=t} u_s
 * r_s^T, so that u_t = beta_t (v_t - S r_t - sum_{s<t} (r_s . r_t) u_s), and o_t = (S q_t +
 * sum_{s<=t} (r_s . q_t) u_s) / 8. The products r_s . r_t and r_s . q_t are computed for the whole
 * chunk at once. Only u_t remains a chain, of CHUNK short steps. The state's rows are divided among
 * PARTS blocks, which don't depend on each other. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune CHUNK 8 16 32
// kforge: tune PARTS 1 2 4
// kforge: tune THREADS 64 128 256
// kforge: require CHUNK <= 16 || PARTS >= 2
#ifndef CHUNK
#define CHUNK 16
#endif
/* blocks a head */
#ifndef PARTS
#define PARTS 2
#endif
#ifndef THREADS
#define THREADS 128
#endif
#define DIM 64
#define ROWS (DIM / PARTS) /* of the state a block */

__global__ void __launch_bounds__(THREADS)
    delta_rule_kernel(const __nv_bfloat16 *__restrict__ q, const __nv_bfloat16 *__restrict__ k,
                      const __nv_bfloat16 *__restrict__ v, const __nv_bfloat16 *__restrict__ b,
                      float *__restrict__ o, int64_t tokens, int heads)
{
    /* Padded rows, so that threads that read one column use different banks. */
    __shared__ float state[ROWS][DIM + 1], key[CHUNK][DIM + 1], query[CHUNK][DIM + 1];
    __shared__ float u[CHUNK][ROWS + 1], key_key[CHUNK][CHUNK + 1], key_query[CHUNK][CHUNK + 1];
    __shared__ float beta[CHUNK];
    const int head = blockIdx.x / PARTS, first = blockIdx.x % PARTS * ROWS;
    for (int n = threadIdx.x; n < ROWS * DIM; n += THREADS) state[n / DIM][n % DIM] = 0.0f;
    for (int64_t begin = 0; begin < tokens; begin += CHUNK) {
        const int count = (int)(tokens - begin < CHUNK ? tokens - begin : CHUNK);
        __syncthreads();
        for (int n = threadIdx.x; n < count * DIM; n += THREADS) {
            const int t = n / DIM, j = n % DIM;
            const int64_t at = ((begin + t) * heads + head) * DIM + j;
            key[t][j] = __bfloat162float(k[at]);
            query[t][j] = __bfloat162float(q[at]);
        }
        __syncthreads();
        for (int t = threadIdx.x; t < count; t += THREADS) {
            float square = 0.0f;
            for (int j = 0; j < DIM; j++) square = fmaf(key[t][j], key[t][j], square);
            const float scale = rsqrtf(square + 1e-6f);
            for (int j = 0; j < DIM; j++) key[t][j] *= scale;
            beta[t] = 1.0f / (1.0f + expf(-__bfloat162float(b[(begin + t) * heads + head])));
        }
        __syncthreads();
        for (int n = threadIdx.x; n < count * count; n += THREADS) {
            const int t = n / count, s = n % count;
            if (s > t) continue;
            float with_key = 0.0f, with_query = 0.0f;
#pragma unroll 8
            for (int j = 0; j < DIM; j++) {
                with_key = fmaf(key[s][j], key[t][j], with_key);
                with_query = fmaf(key[s][j], query[t][j], with_query);
            }
            key_key[t][s] = with_key;
            key_query[t][s] = with_query;
        }
        for (int n = threadIdx.x; n < count * ROWS; n += THREADS) {
            const int t = n / ROWS, i = n % ROWS;
            float seen = 0.0f;
#pragma unroll 8
            for (int j = 0; j < DIM; j++) seen = fmaf(state[i][j], key[t][j], seen);
            u[t][i] = __bfloat162float(v[((begin + t) * heads + head) * DIM + first + i]) - seen;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < ROWS; i += THREADS)
            for (int t = 0; t < count; t++) {
                float sum = u[t][i];
                for (int s = 0; s < t; s++) sum = fmaf(-key_key[t][s], u[s][i], sum);
                u[t][i] = beta[t] * sum;
            }
        __syncthreads();
        for (int n = threadIdx.x; n < count * ROWS; n += THREADS) {
            const int t = n / ROWS, i = n % ROWS;
            float sum = 0.0f;
#pragma unroll 8
            for (int j = 0; j < DIM; j++) sum = fmaf(state[i][j], query[t][j], sum);
            for (int s = 0; s <= t; s++) sum = fmaf(key_query[t][s], u[s][i], sum);
            o[((begin + t) * heads + head) * DIM + first + i] = sum * 0.125f; /* 1 / sqrt(64) */
        }
        __syncthreads();
        for (int n = threadIdx.x; n < ROWS * DIM; n += THREADS) {
            const int i = n / DIM, j = n % DIM;
            float sum = state[i][j];
            for (int t = 0; t < count; t++) sum = fmaf(u[t][i], key[t][j], sum);
            state[i][j] = sum;
        }
    }
}

extern "C" void delta_rule(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v,
                           const __nv_bfloat16 *b, float *o, void *scratch, int64_t tokens,
                           int64_t heads, cudaStream_t stream)
{
    (void)scratch;
    delta_rule_kernel<<<(unsigned)(heads * PARTS), THREADS, 0, stream>>>(q, k, v, b, o, tokens,
                                                                         (int)heads);
}
