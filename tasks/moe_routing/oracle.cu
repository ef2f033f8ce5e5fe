/* Top-k gating with weights that add up to 1 (Shazeer et al., "Outrageously large neural networks",
 * 2017; Jiang et al., "Mixtral of experts", 2024), in float64, and the slots in the order of their
 * experts. The place of an expert is the number of those in front of it. One thread an expert of a
 * token, then one block an expert. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 256

__device__ int64_t rank_of(const float *row, int64_t expert_count, int64_t e)
{
    int64_t rank = 0;
    for (int64_t f = 0; f < expert_count; f++)
        rank += row[f] > row[e] || (row[f] == row[e] && f < e);
    return rank;
}

__global__ void choose_exact(const float *logits, int32_t *experts, int64_t expert_count, int64_t k,
                             int64_t count)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const int64_t t = n / expert_count, e = n % expert_count;
    const int64_t rank = rank_of(logits + t * expert_count, expert_count, e);
    if (rank < k) experts[t * k + rank] = (int32_t)e;
}

__global__ void weigh_exact(const float *logits, const int32_t *experts, double *weights,
                            int64_t expert_count, int64_t k, int64_t slots)
{
    const int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= slots) return;
    const int64_t t = s / k;
    const float *row = logits + t * expert_count;
    const double largest = row[experts[t * k]];
    double sum = 0;
    for (int64_t r = 0; r < k; r++) sum += exp((double)row[experts[t * k + r]] - largest);
    weights[s] = exp((double)row[experts[s]] - largest) / sum;
}

/* Block e places the slots of expert e: a thread has a stretch of slots. */
__global__ void order_exact(const int32_t *experts, int32_t *offsets, int32_t *order, int64_t slots)
{
    __shared__ int64_t before[THREADS], own[THREADS];
    const int t = threadIdx.x, e = blockIdx.x;
    const int64_t each = (slots + THREADS - 1) / THREADS, first = t * each;
    const int64_t end = first + each < slots ? first + each : slots;
    int64_t lower = 0, equal = 0;
    for (int64_t s = first; s < end; s++) {
        lower += experts[s] < e;
        equal += experts[s] == e;
    }
    before[t] = lower;
    own[t] = equal;
    __syncthreads();
    int64_t start = 0, at = 0, all = 0;
    for (int u = 0; u < THREADS; u++) {
        start += before[u];
        at += u < t ? own[u] : 0;
        all += own[u];
    }
    if (t == 0) offsets[e] = (int32_t)start;
    if (t == 0 && e == (int)gridDim.x - 1) offsets[e + 1] = (int32_t)(start + all);
    for (int64_t s = first; s < end; s++)
        if (experts[s] == e) order[start + at++] = (int32_t)s;
}

extern "C" void moe_routing_oracle(const float *logits, int32_t *experts, double *weights,
                                   int32_t *offsets, int32_t *order, int64_t tokens,
                                   int64_t expert_count, int64_t k, cudaStream_t stream)
{
    const int64_t count = tokens * expert_count, slots = tokens * k;
    choose_exact<<<(unsigned)((count + 127) / 128), 128, 0, stream>>>(logits, experts, expert_count,
                                                                      k, count);
    weigh_exact<<<(unsigned)((slots + 127) / 128), 128, 0, stream>>>(logits, experts, weights,
                                                                     expert_count, k, slots);
    order_exact<<<(unsigned)expert_count, THREADS, 0, stream>>>(experts, offsets, order, slots);
}
