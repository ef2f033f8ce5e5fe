/* Both sweeps in one launch: a block loads a tile of u with a rim of 2 cells into shared memory, computes the first sweep on the
 * tile with a rim of 1 into a second shared array and the second sweep from that, so that u and f are read and v is written about
 * once. The rims are computed twice by neighbouring blocks, (TILE_X + 2)(TILE_Y + 2) / (TILE_X TILE_Y) of the work: larger tiles
 * waste less. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune TILE_X 32 64 128
// kforge: tune TILE_Y 8 16 32
// kforge: tune THREADS_Y 4 8 16
// kforge: require (TILE_X + 4) * (TILE_Y + 4) <= 6000
#ifndef TILE_X
#define TILE_X 128
#endif
#ifndef TILE_Y
#define TILE_Y 32
#endif
/* a block is 32 x THREADS_Y threads */
#ifndef THREADS_Y
#define THREADS_Y 8
#endif

__global__ void __launch_bounds__(32 * THREADS_Y)
    two_sweeps(const float *__restrict__ u, const float *__restrict__ f, float *__restrict__ v, int64_t rows, int64_t cols)
{
    __shared__ float a[TILE_Y + 4][TILE_X + 4]; /* u from (i0 - 2, j0 - 2) on */
    __shared__ float b[TILE_Y + 2][TILE_X + 2]; /* J(u) from (i0 - 1, j0 - 1) on */
    const int64_t i0 = (int64_t)blockIdx.y * TILE_Y, j0 = (int64_t)blockIdx.x * TILE_X;

    for (int y = threadIdx.y; y < TILE_Y + 4; y += THREADS_Y)
        for (int x = threadIdx.x; x < TILE_X + 4; x += 32) {
            int64_t i = i0 + y - 2, j = j0 + x - 2;
            a[y][x] = i >= 0 && i < rows && j >= 0 && j < cols ? u[i * cols + j] : 0.0f;
        }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE_Y + 2; y += THREADS_Y)
        for (int x = threadIdx.x; x < TILE_X + 2; x += 32) {
            int64_t i = i0 + y - 1, j = j0 + x - 1;
            float value = a[y + 1][x + 1];
            if (i > 0 && i < rows - 1 && j > 0 && j < cols - 1)
                value = 0.25f * (a[y][x + 1] + a[y + 2][x + 1] + a[y + 1][x] + a[y + 1][x + 2] + f[i * cols + j]);
            b[y][x] = value;
        }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE_Y; y += THREADS_Y)
        for (int x = threadIdx.x; x < TILE_X; x += 32) {
            int64_t i = i0 + y, j = j0 + x;
            if (i >= rows || j >= cols) continue;
            float value = b[y + 1][x + 1];
            if (i > 0 && i < rows - 1 && j > 0 && j < cols - 1)
                value = 0.25f * (b[y][x + 1] + b[y + 2][x + 1] + b[y + 1][x] + b[y + 1][x + 2] + f[i * cols + j]);
            v[i * cols + j] = value;
        }
}

extern "C" void jacobi2d(const float *u, const float *f, float *v, float *tmp, int64_t rows, int64_t cols, cudaStream_t stream)
{
    (void)tmp;
    dim3 grid((unsigned)((cols + TILE_X - 1) / TILE_X), (unsigned)((rows + TILE_Y - 1) / TILE_Y));
    two_sweeps<<<grid, dim3(32, THREADS_Y), 0, stream>>>(u, f, v, rows, cols);
}
