//@ move ROW 0:0.45 1:0.35 2:0.20 | a block a row with a tree in shared memory / a warp a row with shuffles / a thread a row
//@ move PASSES 0:0.55 1:0.45 | mean and deviation in two passes / sum and sum of squares in one
//@ move DIVIDE 0:0.50 1:0.50 | a division an element / one reciprocal square root a row
//@ move CHUNK 0:0.65 1:0.35 | neighbours in turn / a contiguous piece of the row for each thread
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256
#ifndef THREADS
#define THREADS 256
#endif
//@ if ROW 0
#define LANES THREADS
//@ end
//@ if ROW 1
#define LANES 32
//@ end
//@ if ROW 2
#define LANES 1
//@ end

//@ if ROW 0
__device__ float all(float value)
{
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    value = partial[0];
    __syncthreads();
    return value;
}
//@ end
//@ if ROW 1
__device__ float all(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}
//@ end
//@ if ROW 2
__device__ float all(float value)
{
    return value;
}
//@ end

__global__ void layernorm_kernel(const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta,
                                 float *__restrict__ y, float epsilon, int64_t rows, int64_t cols)
{
    int lane = threadIdx.x % LANES;
    int64_t row = (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    if (row >= rows) return; /* whole warps, or a block of one row, or threads that meet nobody */
    const float *from = x + row * cols;
    float *to = y + row * cols;
//@ if CHUNK 0
    int64_t begin = lane, end = cols, step = LANES;
//@ end
//@ if CHUNK 1
    int64_t piece = (cols + LANES - 1) / LANES, begin = lane * piece, end = begin + piece < cols ? begin + piece : cols, step = 1;
//@ end
    float sum = 0.0f, squares = 0.0f;
//@ if PASSES 0
    for (int64_t j = begin; j < end; j += step) sum += from[j];
    float mean = all(sum) / cols;
    for (int64_t j = begin; j < end; j += step) squares += (from[j] - mean) * (from[j] - mean);
    float variance = all(squares) / cols;
//@ end
//@ if PASSES 1
    for (int64_t j = begin; j < end; j += step) {
        sum += from[j];
        squares += from[j] * from[j];
    }
    float mean = all(sum) / cols;
    float variance = all(squares) / cols - mean * mean;
//@ end
//@ if DIVIDE 0
    float deviation = sqrtf(variance + epsilon);
    for (int64_t j = begin; j < end; j += step) to[j] = (from[j] - mean) / deviation * gamma[j] + beta[j];
//@ end
//@ if DIVIDE 1
    float scale = 1.0f / sqrtf(variance + epsilon);
    for (int64_t j = begin; j < end; j += step) to[j] = (from[j] - mean) * scale * gamma[j] + beta[j];
//@ end
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, float epsilon, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
//@ bug rows
    int64_t each = THREADS / LANES;
    layernorm_kernel<<<(unsigned)((rows + each - 1) / each), THREADS, 0, stream>>>(x, gamma, beta, y, epsilon, rows, cols);
}
