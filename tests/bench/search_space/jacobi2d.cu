//@ move SWEEPS 0:0.65 1:0.35 | two launches with the intermediate grid in memory / one launch that computes five intermediate values
//@ move WALK 0:0.50 1:0.30 2:0.20 | one element a thread / four rows a thread / a thread walks eight elements of a row
//@ move BRANCH 0:0.60 1:0.40 | the border is a branch in the kernel / clamped indices and a select
//@ move RESTRICT 0:0.55 1:0.45 | plain pointers / pointers that promise not to alias
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune WIDTH 32 64 128
#ifndef WIDTH
#define WIDTH 32
#endif
//@ if RESTRICT 0
#define POINTER
//@ end
//@ if RESTRICT 1
#define POINTER __restrict__
//@ end
//@ if WALK 0
#define DOWN 1
#define ACROSS 1
//@ end
//@ if WALK 1
#define DOWN 4
#define ACROSS 1
//@ end
//@ if WALK 2
#define DOWN 1
#define ACROSS 8
//@ end
#define HIGH 4

__device__ __forceinline__ float point(const float *POINTER from, const float *POINTER f, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    int64_t k = i * cols + j;
    bool border = i == 0 || i == rows - 1 || j == 0 || j == cols - 1;
//@ if BRANCH 0
    if (border) return from[k];
    return 0.25f * (from[k - cols] + from[k + cols] + from[k - 1] + from[k + 1] + f[k]);
//@ end
//@ if BRANCH 1
    int64_t up = i > 0 ? k - cols : k, down = i < rows - 1 ? k + cols : k, left = j > 0 ? k - 1 : k, right = j < cols - 1 ? k + 1 : k;
    float inner = 0.25f * (from[up] + from[down] + from[left] + from[right] + f[k]);
    return border ? from[k] : inner;
//@ end
}

//@ if SWEEPS 1
__device__ __forceinline__ float twice(const float *POINTER u, const float *POINTER f, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    if (i == 0 || i == rows - 1 || j == 0 || j == cols - 1) return u[i * cols + j];
    return 0.25f * (point(u, f, i - 1, j, rows, cols) + point(u, f, i + 1, j, rows, cols) + point(u, f, i, j - 1, rows, cols) +
                    point(u, f, i, j + 1, rows, cols) + f[i * cols + j]);
}
//@ end

__global__ void sweep(const float *POINTER from, const float *POINTER f, float *POINTER to, int64_t rows, int64_t cols)
{
    int64_t i0 = ((int64_t)blockIdx.y * HIGH + threadIdx.y) * DOWN, j0 = ((int64_t)blockIdx.x * WIDTH + threadIdx.x) * ACROSS;
    for (int64_t i = i0; i < i0 + DOWN && i < rows; i++)
        for (int64_t j = j0; j < j0 + ACROSS && j < cols; j++) {
//@ if SWEEPS 0
            to[i * cols + j] = point(from, f, i, j, rows, cols);
//@ end
//@ if SWEEPS 1
            to[i * cols + j] = twice(from, f, i, j, rows, cols);
//@ end
        }
}

extern "C" void jacobi2d(const float *u, const float *f, float *v, float *tmp, int64_t rows, int64_t cols, cudaStream_t stream)
{
//@ bug rows
    int64_t across = WIDTH * ACROSS, down = HIGH * DOWN;
    dim3 grid((unsigned)((cols + across - 1) / across), (unsigned)((rows + down - 1) / down));
//@ if SWEEPS 0
    sweep<<<grid, dim3(WIDTH, HIGH), 0, stream>>>(u, f, tmp, rows, cols);
    sweep<<<grid, dim3(WIDTH, HIGH), 0, stream>>>(tmp, f, v, rows, cols);
//@ end
//@ if SWEEPS 1
    sweep<<<grid, dim3(WIDTH, HIGH), 0, stream>>>(u, f, v, rows, cols);
//@ end
}
