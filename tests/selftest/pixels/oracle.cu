#include <cuda_runtime.h>
#include <stdint.h>

/* Adds the threads' numbers in a tree. All threads of the block get the sum. */
__device__ double sum_of_block(double value)
{
    __shared__ double parts[256];
    parts[threadIdx.x] = value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    double sum = parts[0];
    __syncthreads();
    return sum;
}

/* One block a row. */
__global__ void find_moments(const uint8_t *x, double *mean, double *variance, int64_t cols)
{
    const uint8_t *row = x + blockIdx.x * cols;
    double sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 256) sum += row[j];
    double middle = sum_of_block(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 256)
        squares += (row[j] - middle) * (row[j] - middle);
    squares = sum_of_block(squares);
    if (threadIdx.x == 0) mean[blockIdx.x] = middle, variance[blockIdx.x] = squares / cols;
}

extern "C" void pixels_oracle(const uint8_t *x, double *mean, double *variance,
                              int64_t rows, int64_t cols, cudaStream_t stream)
{
    find_moments<<<(unsigned)rows, 256, 0, stream>>>(x, mean, variance, cols);
}
