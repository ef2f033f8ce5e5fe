/* loss_i = log sum_j exp(l_ij - m_i) + m_i - l_{i,label}, m_i = max_j l_ij, in float64 (Goodfellow
 * et al., "Deep Learning", 2016, sections 4.1 and 6.2.2.3). One block a row, in two passes. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 128

__global__ void cross_entropy_exact(const __nv_bfloat16 *logits, const int64_t *labels,
                                    double *loss, int64_t vocab)
{
    __shared__ double value[THREADS];
    const __nv_bfloat16 *row = logits + blockIdx.x * vocab;
    const int64_t label = labels[blockIdx.x];
    double largest = -INFINITY;
    for (int64_t j = threadIdx.x; j < vocab; j += THREADS)
        largest = fmax(largest, (double)__bfloat162float(row[j]));
    value[threadIdx.x] = largest;
    __syncthreads();
    for (int t = 0; t < THREADS; t++) largest = fmax(largest, value[t]);
    __syncthreads();
    double sum = 0;
    for (int64_t j = threadIdx.x; j < vocab; j += THREADS)
        sum += exp((double)__bfloat162float(row[j]) - largest);
    value[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int t = 1; t < THREADS; t++) sum += value[t];
    loss[blockIdx.x] = label < 0 ? 0 : log(sum) + largest - (double)__bfloat162float(row[label]);
}

extern "C" void cross_entropy_oracle(const __nv_bfloat16 *logits, const int64_t *labels,
                                     double *loss, int64_t rows, int64_t vocab, cudaStream_t stream)
{
    cross_entropy_exact<<<(unsigned)rows, THREADS, 0, stream>>>(logits, labels, loss, vocab);
}
