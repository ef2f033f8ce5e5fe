/* Transpose through a TILE x TILE tile in shared memory with 16-byte accesses to global memory on both sides: a thread reads 4
 * consecutive elements of a row of x, keeps LOADS of them in flight, scatters them in shared memory, and after one barrier gathers
 * 4 elements of a column and writes them as one piece of a row of y. The tile is one column wider than TILE, which spreads its
 * columns over the banks. Sizes that 4 does not divide take the same path with 4-byte accesses. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune TILE 32 64
// kforge: tune THREADS 64 128 256 512 1024
// kforge: tune ORDER 0 1
// kforge: require THREADS * 4 <= TILE * TILE
#ifndef TILE
#define TILE 32
#endif
#ifndef THREADS
#define THREADS 128
#endif
/* which way neighbouring blocks go: 0 along rows of x, 1 along rows of y */
#ifndef ORDER
#define ORDER 1
#endif
#define LOADS (TILE * TILE / 4 / THREADS) /* vectors a thread */
#define VECTORS (TILE / 4)                /* vectors a row of the tile */

template <bool ALIGNED>
__global__ void __launch_bounds__(THREADS) transpose_tiles(const float *__restrict__ x, float *__restrict__ y, int64_t rows,
                                                           int64_t cols, unsigned blocks_i, unsigned blocks_j)
{
    __shared__ float tile[TILE][TILE + 1];
    int64_t i = (int64_t)(ORDER ? blockIdx.x % blocks_i : blockIdx.x / blocks_j) * TILE;
    int64_t j = (int64_t)(ORDER ? blockIdx.x / blocks_i : blockIdx.x % blocks_j) * TILE;

    float4 v[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
        int p = (k * THREADS + threadIdx.x) / VECTORS, q = (k * THREADS + threadIdx.x) % VECTORS * 4;
        const float *from = x + (i + p) * cols + j + q;
        v[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (ALIGNED) {
            if (i + p < rows && j + q < cols) v[k] = *(const float4 *)from;
        } else if (i + p < rows) {
            v[k].x = j + q < cols ? from[0] : 0.0f;
            v[k].y = j + q + 1 < cols ? from[1] : 0.0f;
            v[k].z = j + q + 2 < cols ? from[2] : 0.0f;
            v[k].w = j + q + 3 < cols ? from[3] : 0.0f;
        }
    }
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
        int p = (k * THREADS + threadIdx.x) / VECTORS, q = (k * THREADS + threadIdx.x) % VECTORS * 4;
        tile[p][q] = v[k].x;
        tile[p][q + 1] = v[k].y;
        tile[p][q + 2] = v[k].z;
        tile[p][q + 3] = v[k].w;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
        int q = (k * THREADS + threadIdx.x) / VECTORS, p = (k * THREADS + threadIdx.x) % VECTORS * 4;
        float *to = y + (j + q) * rows + i + p;
        if (ALIGNED) {
            if (j + q < cols && i + p < rows)
                *(float4 *)to = make_float4(tile[p][q], tile[p + 1][q], tile[p + 2][q], tile[p + 3][q]);
        } else if (j + q < cols) {
            for (int e = 0; e < 4 && i + p + e < rows; e++) to[e] = tile[p + e][q];
        }
    }
}

extern "C" void transpose(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    unsigned blocks_i = (unsigned)((rows + TILE - 1) / TILE), blocks_j = (unsigned)((cols + TILE - 1) / TILE);
    if (rows % 4 == 0 && cols % 4 == 0)
        transpose_tiles<true><<<blocks_i * blocks_j, THREADS, 0, stream>>>(x, y, rows, cols, blocks_i, blocks_j);
    else
        transpose_tiles<false><<<blocks_i * blocks_j, THREADS, 0, stream>>>(x, y, rows, cols, blocks_i, blocks_j);
}
