/* Attention with an online softmax: a block of 16 x 16 threads has 16 ROWS queries of a head, and
 * takes 16 COLS keys at a time. Each thread has ROWS x COLS scores and ROWS x 8 elements of the
 * output. No tensor cores, so that it runs on both devices. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune ROWS 1 2 4
// kforge: tune COLS 1 2 4
// kforge: tune MIN_BLOCKS 1 2
// kforge: require ROWS + COLS <= 6
#ifndef ROWS
#define ROWS 2
#endif
#ifndef COLS
#define COLS 2
#endif
/* blocks that should fit on a multiprocessor at once: bounds the registers */
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#define DIM 128
#define PITCH (DIM + 2)
#define QUERIES (16 * ROWS)
#define KEYS (16 * COLS)

/* Loads N rows from row `first` on, zeros from row `end` on. */
template <int N>
__device__ void load(__nv_bfloat16 (*to)[PITCH], const __nv_bfloat16 *from, int64_t first,
                     int64_t end)
{
    for (int t = threadIdx.y * 16 + threadIdx.x; t < N * (DIM / 2); t += 256) {
        const int r = t / (DIM / 2), d = t % (DIM / 2) * 2;
        __nv_bfloat162 both = __floats2bfloat162_rn(0.0f, 0.0f);
        if (first + r < end) both = *(const __nv_bfloat162 *)(from + (first + r) * DIM + d);
        *(__nv_bfloat162 *)&to[r][d] = both;
    }
}

__global__ void __launch_bounds__(256, MIN_BLOCKS)
    bf16_attention_kernel(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v,
                          __nv_bfloat16 *o, int64_t seq, int64_t causal)
{
    __shared__ __nv_bfloat16 query[QUERIES][PITCH], tile[KEYS][PITCH];
    __shared__ float score[QUERIES][KEYS + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t head = blockIdx.y * seq * DIM, first = (int64_t)blockIdx.x * QUERIES;
    const int64_t end = causal && first + QUERIES < seq ? first + QUERIES : seq;
    float output[ROWS][DIM / 16] = {}, sum[ROWS] = {}, largest[ROWS];
    for (int r = 0; r < ROWS; r++) largest[r] = -INFINITY;
    load<QUERIES>(query, q + head, first, seq);
    for (int64_t j0 = 0; j0 < end; j0 += KEYS) {
        __syncthreads();
        load<KEYS>(tile, k + head, j0, seq);
        __syncthreads();
        float s[ROWS][COLS] = {};
        for (int d = 0; d < DIM; d++) {
            float e[COLS];
            for (int c = 0; c < COLS; c++) e[c] = __bfloat162float(tile[tx + c * 16][d]);
            for (int r = 0; r < ROWS; r++) {
                const float f = __bfloat162float(query[ty + r * 16][d]);
                for (int c = 0; c < COLS; c++) s[r][c] = fmaf(f, e[c], s[r][c]);
            }
        }
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLS; c++) {
                const int64_t i = first + ty + r * 16, j = j0 + tx + c * 16;
                const bool seen = j < seq && (!causal || j <= i);
                score[ty + r * 16][tx + c * 16] = seen ? s[r][c] * 0.0883883476f : -INFINITY;
            }
        __syncthreads();
        load<KEYS>(tile, v + head, j0, seq);
        for (int r = 0; r < ROWS; r++) {
            float next = largest[r];
            for (int j = 0; j < KEYS; j++) next = fmaxf(next, score[ty + r * 16][j]);
            const float rescale = expf(largest[r] - next);
            largest[r] = next;
            sum[r] *= rescale;
            for (int c = 0; c < DIM / 16; c++) output[r][c] *= rescale;
        }
        __syncthreads();
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLS; c++) {
                float *p = &score[ty + r * 16][tx + c * 16];
                *p = expf(*p - largest[r]);
            }
        __syncthreads();
        for (int r = 0; r < ROWS; r++)
            for (int j = 0; j < KEYS; j++) sum[r] += score[ty + r * 16][j];
        for (int j = 0; j < KEYS; j++)
            for (int c = 0; c < DIM / 16; c++) {
                const float e = __bfloat162float(tile[j][tx + c * 16]);
                for (int r = 0; r < ROWS; r++)
                    output[r][c] = fmaf(score[ty + r * 16][j], e, output[r][c]);
            }
    }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < DIM / 16; c++) {
            const int64_t i = first + ty + r * 16;
            if (i < seq) o[head + i * DIM + tx + c * 16] = __float2bfloat16(output[r][c] / sum[r]);
        }
}

extern "C" void bf16_attention(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
                               const __nv_bfloat16 *v, __nv_bfloat16 *o, int64_t heads, int64_t seq,
                               int64_t causal, cudaStream_t stream)
{
    const dim3 grid((unsigned)((seq + QUERIES - 1) / QUERIES), (unsigned)heads);
    bf16_attention_kernel<<<grid, dim3(16, 16), 0, stream>>>(q, k, v, o, seq, causal);
}
