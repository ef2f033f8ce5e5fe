/* Sparse matrix times vector, ROWS consecutive rows a thread, each in LANES independent sums, which hides the latency of additions
 * and gathers where a thread is alone on its core (CPU), at the price of reads that are not coalesced on a GPU. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune ROWS 1 4 16 64
// kforge: tune LANES 1 2 4 8 16
// kforge: tune THREADS 1 8 32 128
#ifndef ROWS
#define ROWS 16
#endif
#ifndef LANES
#define LANES 16
#endif
#ifndef THREADS
#define THREADS 8
#endif

__global__ void spmv_kernel(const int32_t *__restrict__ row_offsets, const int32_t *__restrict__ columns,
                            const float *__restrict__ values, const float *__restrict__ x, float *__restrict__ y, int64_t rows)
{
    int64_t first = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * ROWS, last = first + ROWS < rows ? first + ROWS : rows;
    for (int64_t row = first; row < last; row++) {
        float part[LANES], sum = 0.0f;
        for (int k = 0; k < LANES; k++) part[k] = 0.0f;
        int e = row_offsets[row], end = row_offsets[row + 1];
        for (; e + LANES <= end; e += LANES)
            for (int k = 0; k < LANES; k++) part[k] = fmaf(values[e + k], x[columns[e + k]], part[k]);
        for (; e < end; e++) sum = fmaf(values[e], x[columns[e]], sum);
        for (int k = 0; k < LANES; k++) sum += part[k];
        y[row] = sum;
    }
}

extern "C" void spmv_csr(const int32_t *row_offsets, const int32_t *columns, const float *values, const float *x, float *y,
                         int64_t rows, int64_t cols, cudaStream_t stream)
{
    (void)cols;
    const int span = THREADS * ROWS;
    spmv_kernel<<<(unsigned)((rows + span - 1) / span), THREADS, 0, stream>>>(row_offsets, columns, values, x, y, rows);
}
