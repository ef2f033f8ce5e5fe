/* Sparse matrix times vector with a tunable number of threads a row ("vector CSR": Bell and Garland, 2008): neighbouring threads
 * read neighbouring entries, coalesced, LANES of them in flight each, and add up with shuffles. Rows of very different lengths
 * cost less when more threads share one. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS_PER_ROW 2 4 8 16 32
// kforge: tune THREADS 32 64 128 256 512
// kforge: tune LANES 1 2 4
#ifndef THREADS_PER_ROW
#define THREADS_PER_ROW 8
#endif
#ifndef THREADS
#define THREADS 128
#endif
/* entries that a thread has in flight */
#ifndef LANES
#define LANES 2
#endif
#define ROWS (THREADS / THREADS_PER_ROW) /* rows a block */

/* The sum of every THREADS_PER_ROW-th entry in [begin, end). */
__device__ __forceinline__ float dot(const int32_t *__restrict__ columns, const float *__restrict__ values,
                                     const float *__restrict__ x, int begin, int end)
{
    float part[LANES], sum = 0.0f;
#pragma unroll
    for (int k = 0; k < LANES; k++) part[k] = 0.0f;
    int e = begin;
    for (; e + (LANES - 1) * THREADS_PER_ROW < end; e += LANES * THREADS_PER_ROW) {
#pragma unroll
        for (int k = 0; k < LANES; k++)
            part[k] = fmaf(values[e + k * THREADS_PER_ROW], x[columns[e + k * THREADS_PER_ROW]], part[k]);
    }
    for (; e < end; e += THREADS_PER_ROW) sum = fmaf(values[e], x[columns[e]], sum);
#pragma unroll
    for (int k = 0; k < LANES; k++) sum += part[k];
    return sum;
}

__global__ void __launch_bounds__(THREADS)
    spmv_kernel(const int32_t *__restrict__ row_offsets, const int32_t *__restrict__ columns, const float *__restrict__ values,
                const float *__restrict__ x, float *__restrict__ y, int64_t rows)
{
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x / THREADS_PER_ROW;
    int lane = threadIdx.x % THREADS_PER_ROW;
    float sum = 0.0f;
    if (row < rows) sum = dot(columns, values, x, row_offsets[row] + lane, row_offsets[row + 1]);
#pragma unroll
    for (int offset = THREADS_PER_ROW / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0 && row < rows) y[row] = sum;
}

extern "C" void spmv_csr(const int32_t *row_offsets, const int32_t *columns, const float *values, const float *x, float *y,
                         int64_t rows, int64_t cols, cudaStream_t stream)
{
    (void)cols;
    spmv_kernel<<<(unsigned)((rows + ROWS - 1) / ROWS), THREADS, 0, stream>>>(row_offsets, columns, values, x, y, rows);
}
