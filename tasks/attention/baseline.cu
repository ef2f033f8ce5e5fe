/* Attention, one block a query, the scores of all keys in shared memory: 128 threads compute scores side by side, find their
 * maximum and the sum of exponentials in trees, then each of 64 threads adds up one column of the output over half of the keys.
 * Cost: 256 FMAs a query and key; every block reads all of k and v from cache, threads read rows of k 256 bytes apart, and 16
 * barriers a query. Shared memory bounds seq to about 12,000 keys. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define DIM 64
#define THREADS 128

__global__ void attention_kernel(const float *q, const float *k, const float *v, float *o, int seq)
{
    extern __shared__ float scores[];
    __shared__ float query[DIM], partial[THREADS];
    int64_t i = blockIdx.x;
    int t = threadIdx.x;
    if (t < DIM) query[t] = q[i * DIM + t] * 0.125f; /* 1 / sqrt(64) */
    __syncthreads();

    float largest = -INFINITY;
    for (int j = t; j < seq; j += THREADS) {
        float sum = 0.0f;
        for (int d = 0; d < DIM; d++) sum += query[d] * k[(int64_t)j * DIM + d];
        scores[j] = sum;
        largest = fmaxf(largest, sum);
    }
    partial[t] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) partial[t] = fmaxf(partial[t], partial[t + half]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();

    float sum = 0.0f;
    for (int j = t; j < seq; j += THREADS) {
        scores[j] = expf(scores[j] - largest);
        sum += scores[j];
    }
    partial[t] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    sum = partial[0];
    __syncthreads();

    float total = 0.0f;
    for (int j = t / DIM; j < seq; j += THREADS / DIM) total += scores[j] * v[(int64_t)j * DIM + t % DIM];
    partial[t] = total;
    __syncthreads();
    if (t < DIM) o[i * DIM + t] = (partial[t] + partial[t + DIM]) / sum;
}

extern "C" void attention(const float *q, const float *k, const float *v, float *o, int64_t seq, cudaStream_t stream)
{
    attention_kernel<<<(unsigned)seq, THREADS, (size_t)seq * sizeof(float), stream>>>(q, k, v, o, (int)seq);
}
