//@ move ROW 0:0.45 1:0.35 2:0.20 | a block a row with a tree in shared memory / a warp a row with shuffles / a thread a row
//@ move CHAINS 0:0.70 1:0.30 | one sum a thread / four independent sums a thread
//@ move CHUNK 0:0.65 1:0.35 | neighbours in turn / a contiguous piece of the row for each thread
//@ move RESTRICT 0:0.55 1:0.45 | plain pointers / pointers that promise not to alias
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256
#ifndef THREADS
#define THREADS 256
#endif
//@ if RESTRICT 0
#define POINTER
//@ end
//@ if RESTRICT 1
#define POINTER __restrict__
//@ end
//@ if ROW 0
#define LANES THREADS
//@ end
//@ if ROW 1
#define LANES 32
//@ end
//@ if ROW 2
#define LANES 1
//@ end

__global__ void gemv_kernel(const float *POINTER A, const float *POINTER x, float *POINTER y, int64_t rows, int64_t cols)
{
    int lane = threadIdx.x % LANES;
    int64_t row = (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    const float *POINTER a = A + (row < rows ? row : rows - 1) * cols;
//@ if CHUNK 0
    int64_t begin = lane, end = cols, step = LANES;
//@ end
//@ if CHUNK 1
    int64_t piece = (cols + LANES - 1) / LANES, begin = lane * piece, end = begin + piece < cols ? begin + piece : cols, step = 1;
//@ end
    float sum = 0.0f;
//@ if CHAINS 0
    for (int64_t j = begin; j < end; j += step) sum += a[j] * x[j];
//@ end
//@ if CHAINS 1
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    int64_t j = begin;
    for (; j + 3 * step < end; j += 4 * step) {
        s0 += a[j] * x[j];
        s1 += a[j + step] * x[j + step];
        s2 += a[j + 2 * step] * x[j + 2 * step];
        s3 += a[j + 3 * step] * x[j + 3 * step];
    }
    for (; j < end; j += step) s0 += a[j] * x[j];
    sum = s0 + s1 + (s2 + s3);
//@ end
//@ if ROW 0
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    sum = partial[0];
//@ end
//@ if ROW 1
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
//@ end
    if (lane == 0 && row < rows) y[row] = sum;
}

extern "C" void gemv(const float *A, const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
//@ bug rows
    int64_t each = THREADS / LANES;
    gemv_kernel<<<(unsigned)((rows + each - 1) / each), THREADS, 0, stream>>>(A, x, y, rows, cols);
}
