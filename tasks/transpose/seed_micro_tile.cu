/* Transpose in registers, without shared memory or barriers: a thread reads 4 pieces of 16 bytes from 4 consecutive rows,
 * transposes the 4x4 tile in its registers and writes 4 pieces of 16 bytes. LANES_I x LANES_J neighbouring threads cover a patch
 * of 4 LANES_I rows by 4 LANES_J columns, so that reads come in runs of 16 LANES_J bytes and writes in runs of 16 LANES_I bytes
 * (32 bytes is a memory sector); TILES_I and TILES_J 4x4 tiles a thread give it more work, neighbours for a CPU's caches (SPREAD
 * 0) or a patch apart (SPREAD 1, coalesced on a GPU). What 4 does not divide is done element by element. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune LANES_I 1 2 4 8 16 32
// kforge: tune LANES_J 1 2 4 8 16 32
// kforge: tune TILES_I 1 2 4 8
// kforge: tune TILES_J 1 2 4 8 16
// kforge: tune SPREAD 0 1
// kforge: require LANES_I * LANES_J <= 512
// kforge: require TILES_I * TILES_J <= 64
#ifndef LANES_I
#define LANES_I 8
#endif
#ifndef LANES_J
#define LANES_J 8
#endif
#ifndef TILES_I
#define TILES_I 1
#endif
#ifndef TILES_J
#define TILES_J 1
#endif
#ifndef SPREAD
#define SPREAD 1
#endif
#define BLOCK_I (4 * LANES_I * TILES_I) /* rows of x a block */
#define BLOCK_J (4 * LANES_J * TILES_J)

__global__ void __launch_bounds__(LANES_I *LANES_J)
    transpose_tiles(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols, unsigned blocks_j)
{
    int64_t block_i = (int64_t)(blockIdx.x / blocks_j) * BLOCK_I, block_j = (int64_t)(blockIdx.x % blocks_j) * BLOCK_J;
    int lane_i = threadIdx.x % LANES_I, lane_j = threadIdx.x / LANES_I;
#pragma unroll
    for (int tile_j = 0; tile_j < TILES_J; tile_j++) {
#pragma unroll
        for (int tile_i = 0; tile_i < TILES_I; tile_i++) {
            int64_t i = block_i + 4 * (SPREAD ? tile_i * LANES_I + lane_i : lane_i * TILES_I + tile_i);
            int64_t j = block_j + 4 * (SPREAD ? tile_j * LANES_J + lane_j : lane_j * TILES_J + tile_j);
            if (i >= rows || j >= cols) continue;
            const float *from = x + i * cols + j;
            float *to = y + j * rows + i;
            if (i + 4 <= rows && j + 4 <= cols && rows % 4 == 0 && cols % 4 == 0) {
                float4 a = *(const float4 *)from, b = *(const float4 *)(from + cols);
                float4 c = *(const float4 *)(from + 2 * cols), d = *(const float4 *)(from + 3 * cols);
                *(float4 *)to = make_float4(a.x, b.x, c.x, d.x);
                *(float4 *)(to + rows) = make_float4(a.y, b.y, c.y, d.y);
                *(float4 *)(to + 2 * rows) = make_float4(a.z, b.z, c.z, d.z);
                *(float4 *)(to + 3 * rows) = make_float4(a.w, b.w, c.w, d.w);
            } else {
                for (int q = 0; q < 4 && j + q < cols; q++)
                    for (int p = 0; p < 4 && i + p < rows; p++) to[q * rows + p] = from[p * cols + q];
            }
        }
    }
}

extern "C" void transpose(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    unsigned blocks_i = (unsigned)((rows + BLOCK_I - 1) / BLOCK_I), blocks_j = (unsigned)((cols + BLOCK_J - 1) / BLOCK_J);
    transpose_tiles<<<blocks_i * blocks_j, LANES_I * LANES_J, 0, stream>>>(x, y, rows, cols, blocks_j);
}
