//@ move ROW 0:0.45 1:0.35 2:0.20 | a block a row with a tree in shared memory / a warp a row with shuffles / a thread a row
//@ move KEEP 0:0.60 1:0.40 | the exponential is computed twice / kept in the output and scaled
//@ move DIVIDE 0:0.55 1:0.45 | a division an element / one reciprocal a row
//@ move EXP 0:0.65 1:0.35 | expf / exp2f of values scaled by log2 e
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
//@ if EXP 0
#define EXP(x) expf(x)
//@ end
//@ if EXP 1
#define EXP(x) exp2f((x) * 1.44269504f)
//@ end

//@ if ROW 0
__device__ float all(float value, bool add)
{
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float a = partial[threadIdx.x], b = partial[threadIdx.x + half];
            partial[threadIdx.x] = add ? a + b : fmaxf(a, b);
        }
        __syncthreads();
    }
    value = partial[0];
    __syncthreads();
    return value;
}
//@ end
//@ if ROW 1
__device__ float all(float value, bool add)
{
    for (int offset = 16; offset > 0; offset /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, value, offset);
        value = add ? value + other : fmaxf(value, other);
    }
    return value;
}
//@ end
//@ if ROW 2
__device__ float all(float value, bool)
{
    return value;
}
//@ end

__global__ void row_softmax_kernel(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
{
    int lane = threadIdx.x % LANES;
    int64_t row = (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    if (row >= rows) return; /* whole warps, or a block of one row, or threads that meet nobody */
    const float *from = x + row * cols;
    float *to = y + row * cols;
    float largest = -INFINITY, sum = 0.0f;
    for (int64_t j = lane; j < cols; j += LANES) largest = fmaxf(largest, from[j]);
    largest = all(largest, false);
    for (int64_t j = lane; j < cols; j += LANES) {
        float e = EXP(from[j] - largest);
//@ if KEEP 1
        to[j] = e;
//@ end
        sum += e;
    }
    sum = all(sum, true);
//@ if DIVIDE 1
    float scale = 1.0f / sum;
//@ end
    for (int64_t j = lane; j < cols; j += LANES) {
//@ if KEEP 0
        float e = EXP(from[j] - largest);
//@ end
//@ if KEEP 1
        float e = to[j];
//@ end
//@ if DIVIDE 0
        to[j] = e / sum;
//@ end
//@ if DIVIDE 1
        to[j] = e * scale;
//@ end
    }
}

extern "C" void row_softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
//@ bug rows
    int64_t each = THREADS / LANES;
    row_softmax_kernel<<<(unsigned)((rows + each - 1) / each), THREADS, 0, stream>>>(x, y, rows, cols);
}
