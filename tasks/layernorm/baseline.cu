/* Layer normalisation, one block a row in three passes: the mean, the mean squared deviation, the output. The first two end in a
 * tree in shared memory. Cost: the row is read three times (the second and third time mostly from cache) and written once; 18
 * barriers a row. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 256

/* The sum of one value of each thread, in all of them. */
__device__ float block_sum(float value)
{
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    float sum = partial[0];
    __syncthreads();
    return sum;
}

__global__ void layernorm_kernel(const float *x, const float *gamma, const float *beta, float *y, float epsilon, int64_t cols)
{
    const float *from = x + blockIdx.x * cols;
    float *to = y + blockIdx.x * cols;

    float sum = 0.0f;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) sum += from[j];
    float mean = block_sum(sum) / cols;

    float squares = 0.0f;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) squares += (from[j] - mean) * (from[j] - mean);
    float deviation = sqrtf(block_sum(squares) / cols + epsilon);

    for (int64_t j = threadIdx.x; j < cols; j += THREADS) to[j] = (from[j] - mean) / deviation * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, float epsilon, int64_t rows,
                          int64_t cols, cudaStream_t stream)
{
    layernorm_kernel<<<(unsigned)rows, THREADS, 0, stream>>>(x, gamma, beta, y, epsilon, cols);
}
