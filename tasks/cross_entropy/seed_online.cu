/* Cross-entropy in one pass: each thread keeps a running maximum and the sum of exponentials below
 * it (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), and takes VECTOR
 * logits a load, UNROLL loads at a time, so that the sum is rescaled once for all of them. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune THREADS 128 256 512 1024
// kforge: tune VECTOR 1 2 4 8
// kforge: tune UNROLL 1 2 4
// kforge: flags | --use_fast_math
#ifndef THREADS
#define THREADS 256
#endif
#ifndef VECTOR
#define VECTOR 8
#endif
#ifndef UNROLL
#define UNROLL 2
#endif

struct __align__(2 * VECTOR) pack
{
    __nv_bfloat16 e[VECTOR];
};

struct state {
    float largest, sum;
};

__device__ __forceinline__ state join(state a, state b)
{
    const float largest = fmaxf(a.largest, b.largest);
    if (largest == -INFINITY) return state{largest, 0.0f};
    return state{largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

__device__ __forceinline__ void add(state &s, float x)
{
    s = join(s, state{x, 1.0f});
}

__global__ void __launch_bounds__(THREADS)
    cross_entropy_kernel(const __nv_bfloat16 *__restrict__ logits,
                         const int64_t *__restrict__ labels, float *__restrict__ loss,
                         int64_t vocab)
{
    __shared__ state partial[32];
    const __nv_bfloat16 *row = logits + blockIdx.x * vocab;
    const int64_t label = labels[blockIdx.x];
    if (label < 0) {
        if (threadIdx.x == 0) loss[blockIdx.x] = 0.0f;
        return;
    }

    state s = {-INFINITY, 0.0f};
    /* Elements in front of the first aligned vector, and those behind the last. */
    const int64_t odd = (int64_t)((uintptr_t)row / 2 % VECTOR);
    const int64_t head = odd ? (VECTOR - odd < vocab ? VECTOR - odd : vocab) : 0;
    const int64_t step = (int64_t)THREADS * UNROLL, packs = (vocab - head) / VECTOR;
    const pack *from = (const pack *)(row + head);
    if ((int64_t)threadIdx.x < head) add(s, __bfloat162float(row[threadIdx.x]));
    for (int64_t j = head + packs * VECTOR + threadIdx.x; j < vocab; j += THREADS)
        add(s, __bfloat162float(row[j]));
    for (int64_t first = threadIdx.x; first < packs; first += step) {
        float x[UNROLL][VECTOR], largest = s.largest;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int64_t j = first + (int64_t)u * THREADS;
            pack p = from[j < packs ? j : first];
#pragma unroll
            for (int e = 0; e < VECTOR; e++) {
                x[u][e] = j < packs ? __bfloat162float(p.e[e]) : -INFINITY;
                largest = fmaxf(largest, x[u][e]);
            }
        }
        float sum = s.sum * expf(s.largest - largest);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int e = 0; e < VECTOR; e++) sum += expf(x[u][e] - largest);
        s = state{largest, sum};
    }

#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        s = join(s, state{__shfl_xor_sync(0xffffffffu, s.largest, offset),
                          __shfl_xor_sync(0xffffffffu, s.sum, offset)});
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < THREADS / 32; w++) s = join(s, partial[w]);
    loss[blockIdx.x] = logf(s.sum) + (s.largest - __bfloat162float(row[label]));
}

extern "C" void cross_entropy(const __nv_bfloat16 *logits, const int64_t *labels, float *loss,
                              int64_t rows, int64_t vocab, cudaStream_t stream)
{
    cross_entropy_kernel<<<(unsigned)rows, THREADS, 0, stream>>>(logits, labels, loss, vocab);
}
