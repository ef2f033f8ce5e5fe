/* Routing with a warp a token: the lanes hold the logits in registers, and k rounds of shuffles
 * find the experts. Up to 32 LANES experts fit; more are read again in each round. The last launch
 * finds the place of a slot with ballots, ROUNDS slots a thread between two barriers. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune WARPS 1 2 4 8
// kforge: tune LANES 4 8
// kforge: tune THREADS 128 256 512 1024
// kforge: tune ROUNDS 1 2 4
#ifndef WARPS
#define WARPS 4
#endif
/* logits a lane */
#ifndef LANES
#define LANES 8
#endif
#ifndef THREADS
#define THREADS 256
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

struct choice {
    float value;
    int expert;
};

__device__ __forceinline__ choice better(choice a, choice b)
{
    return b.value > a.value || (b.value == a.value && b.expert < a.expert) ? b : a;
}

__device__ __forceinline__ choice warp_best(choice own)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        own = better(own, choice{__shfl_xor_sync(0xffffffffu, own.value, offset),
                                 __shfl_xor_sync(0xffffffffu, own.expert, offset)});
    return own;
}

__global__ void __launch_bounds__(WARPS * 32)
    choose(const float *__restrict__ logits, int32_t *__restrict__ experts,
           float *__restrict__ weights, int64_t tokens, int expert_count, int k)
{
    const int64_t t = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (t >= tokens) return;
    const int lane = threadIdx.x % 32;
    const float *row = logits + t * expert_count;
    const bool held = expert_count <= 32 * LANES;
    float v[LANES];
#pragma unroll
    for (int i = 0; i < LANES; i++)
        v[i] = lane + 32 * i < expert_count ? row[lane + 32 * i] : -INFINITY;
    float largest = 0.0f, sum = 0.0f;
    choice last = {INFINITY, -1};
    for (int r = 0; r < k; r++) {
        choice own = {-INFINITY, INT32_MAX};
        if (held) {
#pragma unroll
            for (int i = 0; i < LANES; i++)
                if (v[i] > -INFINITY) own = better(own, choice{v[i], lane + 32 * i});
        } else {
            for (int e = lane; e < expert_count; e += 32)
                if (row[e] < last.value || (row[e] == last.value && e > last.expert))
                    own = better(own, choice{row[e], e});
        }
        last = warp_best(own);
#pragma unroll
        for (int i = 0; i < LANES; i++)
            if (lane + 32 * i == last.expert) v[i] = -INFINITY;
        if (r == 0) largest = last.value;
        const float e = expf(last.value - largest);
        sum += e;
        if (lane == 0) {
            experts[t * k + r] = last.expert;
            weights[t * k + r] = e;
        }
    }
    __syncwarp();
    for (int r = lane; r < k; r += 32) weights[t * k + r] /= sum;
}

__global__ void __launch_bounds__(1024)
    count(const int32_t *__restrict__ experts, int32_t *__restrict__ offsets, int64_t slots,
          int expert_count)
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

__global__ void __launch_bounds__(THREADS)
    place(const int32_t *__restrict__ experts, const int32_t *__restrict__ offsets,
          int32_t *__restrict__ order, int64_t slots)
{
    __shared__ int32_t found[ROUNDS][THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, e = blockIdx.x;
    int32_t at = offsets[e];
    for (int64_t begin = 0; begin < slots; begin += THREADS * ROUNDS) {
        unsigned own[ROUNDS];
#pragma unroll
        for (int i = 0; i < ROUNDS; i++) {
            const int64_t s = begin + i * THREADS + threadIdx.x;
            own[i] = __ballot_sync(0xffffffffu, s < slots && experts[s] == e);
            if (lane == 0) found[i][warp] = __popc(own[i]);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ROUNDS; i++) {
            int32_t before = 0, all = 0;
            for (int w = 0; w < THREADS / 32; w++) {
                if (w < warp) before += found[i][w];
                all += found[i][w];
            }
            if (own[i] >> lane & 1)
                order[at + before + __popc(own[i] & ((1u << lane) - 1))] =
                    (int32_t)(begin + i * THREADS + threadIdx.x);
            at += all;
        }
        __syncthreads();
    }
}

extern "C" void moe_routing(const float *logits, int32_t *experts, float *weights, int32_t *offsets,
                            int32_t *order, int64_t tokens, int64_t expert_count, int64_t k,
                            cudaStream_t stream)
{
    const int64_t slots = tokens * k;
    choose<<<(unsigned)((tokens + WARPS - 1) / WARPS), WARPS * 32, 0, stream>>>(
        logits, experts, weights, tokens, (int)expert_count, (int)k);
    count<<<1, 1024, (unsigned)expert_count * sizeof(int32_t), stream>>>(experts, offsets, slots,
                                                                         (int)expert_count);
    place<<<(unsigned)expert_count, THREADS, 0, stream>>>(experts, offsets, order, slots);
}
