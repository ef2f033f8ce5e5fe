/* Both sweeps in one pass without barriers: a thread marches down HEIGHT rows of a strip WIDTH columns wide and keeps the last
 * three rows of the first sweep in local memory, so that u and f are read and v is written about once. All inner loops run over
 * consecutive columns, which a CPU's compiler turns into SIMD code; with WIDTH 1 neighbouring threads touch neighbouring columns
 * and everything stays in registers (GPU). */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune WIDTH 1 16 64 128 256 512
// kforge: tune HEIGHT 8 16 32 64 128
// kforge: tune THREADS 1 2 4 32 128 256
// kforge: require WIDTH * THREADS <= 4096
#ifndef WIDTH
#define WIDTH 256
#endif
#ifndef HEIGHT
#define HEIGHT 32
#endif
#ifndef THREADS
#define THREADS 1
#endif

/* One sweep over columns [first, last) of row i. Pointers are to column 0 of their rows, shifted by the caller where the row is a
 * local buffer. */
__device__ __forceinline__ void sweep_row(const float *north, const float *row, const float *south, const float *f, float *to,
                                          int64_t first, int64_t last, bool rim, int64_t cols)
{
    if (rim) {
        for (int64_t j = first; j < last; j++) to[j] = row[j];
        return;
    }
    int64_t begin = first > 0 ? first : 1, end = last < cols ? last : cols - 1;
    if (first == 0) to[0] = row[0];
    for (int64_t j = begin; j < end; j++) to[j] = 0.25f * (north[j] + south[j] + row[j - 1] + row[j + 1] + f[j]);
    if (last == cols) to[cols - 1] = row[cols - 1];
}

__global__ void two_sweeps(const float *__restrict__ u, const float *__restrict__ f, float *__restrict__ v, int64_t rows,
                           int64_t cols)
{
    const int64_t j0 = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * WIDTH, i0 = (int64_t)blockIdx.y * HEIGHT;
    if (j0 >= cols) return;
    const int64_t j1 = j0 + WIDTH < cols ? j0 + WIDTH : cols, i1 = i0 + HEIGHT < rows ? i0 + HEIGHT : rows;
    /* columns of the first sweep */
    const int64_t first = j0 > 0 ? j0 - 1 : 0, last = j1 < cols ? j1 + 1 : cols;
    float buffer[3][WIDTH + 2];
    float *north = buffer[0] + 1 - j0, *row = buffer[1] + 1 - j0,
          *south = buffer[2] + 1 - j0; /* first sweep of rows i - 1, i, i + 1 */

    for (int64_t i = i0 - 2; i < i1; i++) {
        float *oldest = north;
        north = row;
        row = south;
        south = oldest;
        int64_t below = i + 1;
        if (below >= 0 && below < rows)
            sweep_row(u + (below - 1) * cols, u + below * cols, u + (below + 1) * cols, f + below * cols, south, first, last,
                      below == 0 || below == rows - 1, cols);
        if (i >= i0) sweep_row(north, row, south, f + i * cols, v + i * cols, j0, j1, i == 0 || i == rows - 1, cols);
    }
}

extern "C" void jacobi2d(const float *u, const float *f, float *v, float *tmp, int64_t rows, int64_t cols, cudaStream_t stream)
{
    (void)tmp;
    dim3 grid((unsigned)((cols + (int64_t)WIDTH * THREADS - 1) / ((int64_t)WIDTH * THREADS)),
              (unsigned)((rows + HEIGHT - 1) / HEIGHT));
    two_sweeps<<<grid, THREADS, 0, stream>>>(u, f, v, rows, cols);
}
