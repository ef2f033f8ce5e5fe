/* Softmax of each row, one block a row in three passes: the maximum, the sum of exponentials, the quotients. The first two end in
 * a tree in shared memory. Cost: the row is read three times (the second and third time mostly from cache) and written once, two
 * expf an element, and 18 barriers a row. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 256

__global__ void row_softmax_kernel(const float *x, float *y, int64_t cols)
{
    __shared__ float partial[THREADS];
    const float *from = x + blockIdx.x * cols;
    float *to = y + blockIdx.x * cols;

    float largest = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) largest = fmaxf(largest, from[j]);
    partial[threadIdx.x] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();

    float sum = 0.0f;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) sum += expf(from[j] - largest);
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    sum = partial[0];

    for (int64_t j = threadIdx.x; j < cols; j += THREADS) to[j] = expf(from[j] - largest) / sum;
}

extern "C" void row_softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    row_softmax_kernel<<<(unsigned)rows, THREADS, 0, stream>>>(x, y, cols);
}
