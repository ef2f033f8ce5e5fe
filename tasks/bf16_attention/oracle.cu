/* o_i = sum_j exp(s_ij - m_i) v_j / sum_j exp(s_ij - m_i), s_ij = q_i . k_j / sqrt(128), m_i =
 * max_j s_ij (Vaswani et al., "Attention is all you need", 2017), in float64, with the online
 * softmax of Milakov and Gimelshein (2018). A block of 16 x 16 threads has 32 queries of a head. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define DIM 128
#define TILE 32

/* Loads TILE rows from row `first` on, zeros from row `end` on. */
__device__ void load(float (*to)[DIM + 1], const __nv_bfloat16 *from, int64_t first, int64_t end)
{
    for (int t = threadIdx.y * 16 + threadIdx.x; t < TILE * DIM; t += 256) {
        const int r = t / DIM, d = t % DIM;
        to[r][d] = first + r < end ? __bfloat162float(from[(first + r) * DIM + d]) : 0.0f;
    }
}

__global__ void bf16_attention_exact(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
                                     const __nv_bfloat16 *v, double *o, int64_t seq, int64_t causal)
{
    __shared__ float query[TILE][DIM + 1], tile[TILE][DIM + 1];
    __shared__ double score[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t head = blockIdx.y * seq * DIM, first = (int64_t)blockIdx.x * TILE;
    const int64_t end = causal && first + TILE < seq ? first + TILE : seq;
    double output[2][DIM / 16] = {}, sum[2] = {}, largest[2] = {-INFINITY, -INFINITY};
    load(query, q + head, first, seq);
    for (int64_t j0 = 0; j0 < end; j0 += TILE) {
        __syncthreads();
        load(tile, k + head, j0, seq);
        __syncthreads();
        double s[2][2] = {};
        for (int d = 0; d < DIM; d++)
            for (int r = 0; r < 2; r++)
                for (int c = 0; c < 2; c++)
                    s[r][c] += (double)query[ty + r * 16][d] * (double)tile[tx + c * 16][d];
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++) {
                const int64_t i = first + ty + r * 16, j = j0 + tx + c * 16;
                const bool seen = j < seq && (!causal || j <= i);
                score[ty + r * 16][tx + c * 16] = seen ? s[r][c] / sqrt(128.0) : -INFINITY;
            }
        __syncthreads();
        load(tile, v + head, j0, seq);
        for (int r = 0; r < 2; r++) {
            double next = largest[r];
            for (int j = 0; j < TILE; j++) next = fmax(next, score[ty + r * 16][j]);
            const double rescale = exp(largest[r] - next);
            largest[r] = next;
            sum[r] *= rescale;
            for (int c = 0; c < DIM / 16; c++) output[r][c] *= rescale;
        }
        __syncthreads();
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++) {
                double *p = &score[ty + r * 16][tx + c * 16];
                *p = exp(*p - largest[r]);
            }
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            for (int r = 0; r < 2; r++) {
                const double p = score[ty + r * 16][j];
                sum[r] += p;
                for (int c = 0; c < DIM / 16; c++) output[r][c] += p * (double)tile[j][tx + c * 16];
            }
    }
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < DIM / 16; c++) {
            const int64_t i = first + ty + r * 16;
            if (i < seq) o[head + i * DIM + tx + c * 16] = output[r][c] / sum[r];
        }
}

extern "C" void bf16_attention_oracle(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
                                      const __nv_bfloat16 *v, double *o, int64_t heads, int64_t seq,
                                      int64_t causal, cudaStream_t stream)
{
    const dim3 grid((unsigned)((seq + TILE - 1) / TILE), (unsigned)heads);
    bf16_attention_exact<<<grid, dim3(16, 16), 0, stream>>>(q, k, v, o, seq, causal);
}
