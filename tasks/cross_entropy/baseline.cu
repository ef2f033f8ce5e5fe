/* Cross-entropy, one block a row in two passes: the maximum, then the sum of exponentials. Both end
 * in a tree in shared memory. Rows to ignore are left at once. Cost: a row is read twice (256 KB of
 * a large vocabulary may fall out of the second-level cache), 2 bytes a load. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 256

__global__ void cross_entropy_kernel(const __nv_bfloat16 *logits, const int64_t *labels,
                                     float *loss, int64_t vocab)
{
    __shared__ float partial[THREADS];
    const __nv_bfloat16 *row = logits + blockIdx.x * vocab;
    const int64_t label = labels[blockIdx.x];
    const int t = threadIdx.x;
    if (label < 0) {
        if (t == 0) loss[blockIdx.x] = 0.0f;
        return;
    }

    float largest = -INFINITY;
    for (int64_t j = t; j < vocab; j += THREADS) largest = fmaxf(largest, __bfloat162float(row[j]));
    partial[t] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) partial[t] = fmaxf(partial[t], partial[t + half]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();

    float sum = 0.0f;
    for (int64_t j = t; j < vocab; j += THREADS) sum += expf(__bfloat162float(row[j]) - largest);
    partial[t] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0) loss[blockIdx.x] = logf(partial[0]) + (largest - __bfloat162float(row[label]));
}

extern "C" void cross_entropy(const __nv_bfloat16 *logits, const int64_t *labels, float *loss,
                              int64_t rows, int64_t vocab, cudaStream_t stream)
{
    cross_entropy_kernel<<<(unsigned)rows, THREADS, 0, stream>>>(logits, labels, loss, vocab);
}
