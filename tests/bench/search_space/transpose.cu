//@ move PATH 0:0.30 1:0.50 2:0.20 | straight from memory to memory / through a tile in shared memory / 4 x 4 elements in registers
//@ move ORDER 0:0.60 1:0.40 | neighbouring threads read neighbours / neighbouring threads write neighbours
//@ move SHAPE 0:0.60 1:0.40 | square blocks / blocks a quarter as high, four elements a thread
//@ move RESTRICT 0:0.55 1:0.45 | plain pointers / pointers that promise not to alias
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune TILE 8 16 32
#ifndef TILE
#define TILE 16
#endif
//@ if RESTRICT 0
#define POINTER
//@ end
//@ if RESTRICT 1
#define POINTER __restrict__
//@ end
//@ if SHAPE 0
#define HIGH TILE
//@ end
//@ if SHAPE 1
#define HIGH (TILE / 4)
//@ end
//@ if PATH 0
#define SPAN TILE
//@ end
//@ if PATH 1
#define SPAN TILE
//@ end
//@ if PATH 2
#define SPAN (4 * TILE)
//@ end

__global__ void transpose_kernel(const float *POINTER x, float *POINTER y, int64_t rows, int64_t cols)
{
    int64_t i0 = (int64_t)blockIdx.y * SPAN, j0 = (int64_t)blockIdx.x * SPAN;
//@ if PATH 0
    for (int e = threadIdx.y; e < TILE; e += HIGH) {
//@ if ORDER 0
        int64_t i = i0 + e, j = j0 + threadIdx.x;
//@ end
//@ if ORDER 1
        int64_t i = i0 + threadIdx.x, j = j0 + e;
//@ end
        if (i < rows && j < cols) y[j * rows + i] = x[i * cols + j];
    }
//@ end
//@ if PATH 1
    __shared__ float tile[TILE][TILE + 1];
    for (int e = threadIdx.y; e < TILE; e += HIGH)
        if (i0 + e < rows && j0 + threadIdx.x < cols) tile[e][threadIdx.x] = x[(i0 + e) * cols + j0 + threadIdx.x];
    __syncthreads();
    for (int e = threadIdx.y; e < TILE; e += HIGH) {
//@ if ORDER 0
        int c = threadIdx.x, r = e;
//@ end
//@ if ORDER 1
        int c = e, r = threadIdx.x;
//@ end
        if (j0 + c < cols && i0 + r < rows) y[(j0 + c) * rows + i0 + r] = tile[r][c];
    }
//@ end
//@ if PATH 2
    for (int e = threadIdx.y; e < TILE; e += HIGH) {
//@ if ORDER 0
        int64_t i = i0 + 4 * e, j = j0 + 4 * threadIdx.x;
//@ end
//@ if ORDER 1
        int64_t i = i0 + 4 * threadIdx.x, j = j0 + 4 * e;
//@ end
        float part[4][4];
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 4; c++) part[r][c] = i + r < rows && j + c < cols ? x[(i + r) * cols + j + c] : 0.0f;
        for (int c = 0; c < 4; c++)
            for (int r = 0; r < 4; r++)
                if (i + r < rows && j + c < cols) y[(j + c) * rows + i + r] = part[r][c];
    }
//@ end
}

extern "C" void transpose(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
//@ bug rows
    dim3 grid((unsigned)((cols + SPAN - 1) / SPAN), (unsigned)((rows + SPAN - 1) / SPAN));
    transpose_kernel<<<grid, dim3(TILE, HIGH), 0, stream>>>(x, y, rows, cols);
}
