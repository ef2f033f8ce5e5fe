/* Routing in three launches: one thread a token finds its k experts one after the other, one block
 * counts the slots of each expert and adds the counts up, one block an expert walks over all slots
 * and writes its own. Cost: a thread reads its token's logits k times, not coalesced; each slot is
 * read by every block of the last launch. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 256

__global__ void choose(const float *logits, int32_t *experts, float *weights, int64_t tokens,
                       int expert_count, int k)
{
    const int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tokens) return;
    const float *row = logits + t * expert_count;
    float last = INFINITY, largest = 0.0f, sum = 0.0f;
    int last_expert = -1;
    for (int r = 0; r < k; r++) {
        float best = -INFINITY;
        int best_expert = -1;
        for (int e = 0; e < expert_count; e++) {
            const bool left = row[e] < last || (row[e] == last && e > last_expert);
            if (left && row[e] > best) {
                best = row[e];
                best_expert = e;
            }
        }
        if (r == 0) largest = best;
        experts[t * k + r] = best_expert;
        weights[t * k + r] = expf(best - largest);
        sum += expf(best - largest);
        last = best;
        last_expert = best_expert;
    }
    for (int r = 0; r < k; r++) weights[t * k + r] /= sum;
}

__global__ void count(const int32_t *experts, int32_t *offsets, int64_t slots, int expert_count)
{
    extern __shared__ int32_t counts[];
    for (int e = threadIdx.x; e < expert_count; e += blockDim.x) counts[e] = 0;
    __syncthreads();
    for (int64_t s = threadIdx.x; s < slots; s += blockDim.x) atomicAdd(&counts[experts[s]], 1);
    __syncthreads();
    if (threadIdx.x > 0) return;
    int32_t sum = 0;
    for (int e = 0; e < expert_count; e++) {
        offsets[e] = sum;
        sum += counts[e];
    }
    offsets[expert_count] = sum;
}

__global__ void place(const int32_t *experts, const int32_t *offsets, int32_t *order, int64_t slots)
{
    __shared__ int32_t sum[THREADS];
    const int t = threadIdx.x, e = blockIdx.x;
    int32_t at = offsets[e];
    for (int64_t begin = 0; begin < slots; begin += THREADS) {
        const int64_t s = begin + t;
        const int32_t own = s < slots && experts[s] == e;
        sum[t] = own;
        __syncthreads();
        for (int distance = 1; distance < THREADS; distance *= 2) {
            const int32_t other = t >= distance ? sum[t - distance] : 0;
            __syncthreads();
            sum[t] += other;
            __syncthreads();
        }
        if (own) order[at + sum[t] - 1] = (int32_t)s;
        at += sum[THREADS - 1];
        __syncthreads();
    }
}

extern "C" void moe_routing(const float *logits, int32_t *experts, float *weights, int32_t *offsets,
                            int32_t *order, int64_t tokens, int64_t expert_count, int64_t k,
                            cudaStream_t stream)
{
    const int64_t slots = tokens * k;
    choose<<<(unsigned)((tokens + 127) / 128), 128, 0, stream>>>(logits, experts, weights, tokens,
                                                                 (int)expert_count, (int)k);
    count<<<1, 1024, (unsigned)expert_count * sizeof(int32_t), stream>>>(experts, offsets, slots,
                                                                         (int)expert_count);
    place<<<(unsigned)expert_count, THREADS, 0, stream>>>(experts, offsets, order, slots);
}
