/* Transpose through a 32x32 tile in shared memory, one thread an element: rows of x are read and rows of y are written side by side
 * (both coalesced); the tile is 33 wide so that its columns fall into different banks.
 * Cost: 8 bytes of memory traffic an element; a barrier and one 4-byte load in flight a thread. */
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 32

__global__ void transpose_kernel(const float *x, float *y, int64_t rows, int64_t cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int64_t i = (int64_t)blockIdx.y * TILE, j = (int64_t)blockIdx.x * TILE;
    if (i + threadIdx.y < rows && j + threadIdx.x < cols)
        tile[threadIdx.y][threadIdx.x] = x[(i + threadIdx.y) * cols + j + threadIdx.x];
    __syncthreads();
    if (j + threadIdx.y < cols && i + threadIdx.x < rows)
        y[(j + threadIdx.y) * rows + i + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" void transpose(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    dim3 grid((unsigned)((cols + TILE - 1) / TILE), (unsigned)((rows + TILE - 1) / TILE));
    transpose_kernel<<<grid, dim3(TILE, TILE), 0, stream>>>(x, y, rows, cols);
}
