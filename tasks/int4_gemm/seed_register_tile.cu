/* The 4-bit product with a tile of ROWS x COLS elements of y in the registers of each of 16 x 16
 * threads: each float from shared memory is used ROWS or COLS times. Weights are loaded 8 at a
 * time, as a word. No tensor cores, so that it runs on both devices. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune ROWS 1 2 4 8
// kforge: tune COLS 1 2 4 8
// kforge: tune DEPTH 16 32
// kforge: require DEPTH <= 16 || ROWS + COLS <= 12
#ifndef ROWS
#define ROWS 2
#endif
#ifndef COLS
#define COLS 4
#endif
/* terms of a sum that are in shared memory at once */
#ifndef DEPTH
#define DEPTH 16
#endif
#define SIDE 16 /* threads */
#define GROUP 128

__global__ void __launch_bounds__(SIDE *SIDE)
    int4_gemm_kernel(const __half *__restrict__ x, const uint8_t *__restrict__ packed,
                     const __half *__restrict__ scales, __half *__restrict__ y, int64_t m,
                     int64_t n, int64_t k)
{
    __shared__ float a[DEPTH][SIDE * ROWS + 1], b[DEPTH][SIDE * COLS + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * SIDE + tx;
    const int64_t i0 = (int64_t)blockIdx.y * (SIDE * ROWS),
                  j0 = (int64_t)blockIdx.x * (SIDE * COLS);
    float sum[ROWS][COLS] = {};
    for (int64_t p = 0; p < k; p += DEPTH) {
        for (int t = thread; t < SIDE * ROWS * DEPTH; t += SIDE * SIDE) {
            const int row = t / DEPTH, q = t % DEPTH;
            a[q][row] = i0 + row < m ? __half2float(x[(i0 + row) * k + p + q]) : 0.0f;
        }
        for (int t = thread; t < SIDE * COLS * (DEPTH / 8); t += SIDE * SIDE) {
            const int col = t / (DEPTH / 8), q = t % (DEPTH / 8) * 8;
            const int64_t j = j0 + col < n ? j0 + col : n - 1;
            const uint32_t word = *(const uint32_t *)(packed + j * (k / 2) + (p + q) / 2);
            const float scale = __half2float(scales[j * (k / GROUP) + (p + q) / GROUP]);
#pragma unroll
            for (int e = 0; e < 8; e++)
                b[q + e][col] = (float)((int)(word >> (4 * e) & 15) - 8) * scale;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < DEPTH; q++) {
            float u[ROWS], v[COLS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) u[r] = a[q][ty + r * SIDE];
#pragma unroll
            for (int c = 0; c < COLS; c++) v[c] = b[q][tx + c * SIDE];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int c = 0; c < COLS; c++) sum[r][c] = fmaf(u[r], v[c], sum[r][c]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int64_t i = i0 + ty + r * SIDE;
#pragma unroll
        for (int c = 0; c < COLS; c++) {
            const int64_t j = j0 + tx + c * SIDE;
            if (i < m && j < n) y[i * n + j] = __float2half(sum[r][c]);
        }
    }
}

extern "C" void int4_gemm(const __half *x, const uint8_t *packed, const __half *scales, __half *y,
                          int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + SIDE * COLS - 1) / (SIDE * COLS)),
                    (unsigned)((m + SIDE * ROWS - 1) / (SIDE * ROWS)));
    int4_gemm_kernel<<<grid, dim3(SIDE, SIDE), 0, stream>>>(x, packed, scales, y, m, n, k);
}
