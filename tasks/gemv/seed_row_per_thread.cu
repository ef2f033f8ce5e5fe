/* y = A x, ROWS rows a thread and no barriers: nothing is shared and no thread waits. Each row is added up in LANES independent
 * partial sums, so that the inner loops run over consecutive floats, which a CPU's compiler turns into SIMD FMAs; a piece of x,
 * loaded once, serves all ROWS rows. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune ROWS 1 2 4
// kforge: tune THREADS 1 4 8 16 32 128
// kforge: tune LANES 16 32 64
#ifndef ROWS
#define ROWS 1
#endif
#ifndef THREADS
#define THREADS 8
#endif
#ifndef LANES
#define LANES 32
#endif
/* Products that a lane adds in float before it is added to the total, in double: long rows must not cost accuracy. */
#define PIECE 32

__global__ void gemv_kernel(const float *__restrict__ A, const float *__restrict__ x, float *__restrict__ y, int64_t rows,
                            int64_t cols)
{
    int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * ROWS;
    if (row >= rows) return;
    const float *a[ROWS];
    double sum[ROWS];
    for (int r = 0; r < ROWS; r++) {
        /* a row that is not there: do this thread's first again */
        a[r] = A + (row + r < rows ? row + r : row) * cols;
        sum[r] = 0;
    }
    const int64_t full = cols / LANES * LANES;
    for (int64_t piece = 0; piece < full; piece += PIECE * LANES) {
        int64_t end = piece + PIECE * LANES < full ? piece + PIECE * LANES : full;
        float part[ROWS][LANES];
        for (int r = 0; r < ROWS; r++)
            for (int k = 0; k < LANES; k++) part[r][k] = 0.0f;
        for (int64_t j = piece; j < end; j += LANES)
            for (int r = 0; r < ROWS; r++)
                for (int k = 0; k < LANES; k++) part[r][k] = fmaf(a[r][j + k], x[j + k], part[r][k]);
        for (int r = 0; r < ROWS; r++) {
            for (int width = LANES / 2; width > 0; width /= 2)
                for (int k = 0; k < width; k++) part[r][k] += part[r][k + width];
            sum[r] += part[r][0];
        }
    }
    for (int r = 0; r < ROWS && row + r < rows; r++) {
        for (int64_t j = full; j < cols; j++) sum[r] += a[r][j] * x[j];
        y[row + r] = (float)sum[r];
    }
}

extern "C" void gemv(const float *A, const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    const int span = THREADS * ROWS;
    gemv_kernel<<<(unsigned)((rows + span - 1) / span), THREADS, 0, stream>>>(A, x, y, rows, cols);
}
