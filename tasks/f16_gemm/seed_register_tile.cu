/* The product with a tile of ROWS x COLS elements of y in the registers of each of 16 x 16
 * threads: each float from shared memory is used ROWS or COLS times. 4 elements are loaded at once.
 * No tensor cores, so that it runs on both devices. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune ROWS 1 2 4 8
// kforge: tune COLS 1 2 4 8
// kforge: tune DEPTH 16 32
// kforge: require DEPTH <= 16 || ROWS + COLS <= 12
#ifndef ROWS
#define ROWS 4
#endif
#ifndef COLS
#define COLS 4
#endif
/* terms of a sum that are in shared memory at once */
#ifndef DEPTH
#define DEPTH 16
#endif
#define SIDE 16 /* threads */

struct __align__(8) four
{
    __half e[4];
};

/* Loads `rows` rows of DEPTH elements, transposed; zeros from row `end` and term `k` on. */
template <int N>
__device__ __forceinline__ void load(float (*to)[N + 1], const __half *__restrict__ from,
                                     int64_t first, int64_t end, int64_t p, int64_t k)
{
    for (int t = threadIdx.y * SIDE + threadIdx.x; t < N * (DEPTH / 4); t += SIDE * SIDE) {
        const int row = t / (DEPTH / 4), q = t % (DEPTH / 4) * 4;
        const bool used = first + row < end && p + q < k;
        const four v = *(const four *)(from + (used ? (first + row) * k + p + q : 0));
#pragma unroll
        for (int e = 0; e < 4; e++) to[q + e][row] = used ? __half2float(v.e[e]) : 0.0f;
    }
}

__global__ void __launch_bounds__(SIDE *SIDE)
    f16_gemm_kernel(const __half *__restrict__ x, const __half *__restrict__ w,
                    __half *__restrict__ y, int64_t m, int64_t n, int64_t k)
{
    __shared__ float a[DEPTH][SIDE * ROWS + 1], b[DEPTH][SIDE * COLS + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t i0 = (int64_t)blockIdx.y * (SIDE * ROWS),
                  j0 = (int64_t)blockIdx.x * (SIDE * COLS);
    float sum[ROWS][COLS] = {};
    for (int64_t p = 0; p < k; p += DEPTH) {
        load<SIDE * ROWS>(a, x, i0, m, p, k);
        load<SIDE * COLS>(b, w, j0, n, p, k);
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
        if (i >= m) break;
#pragma unroll
        for (int c = 0; c < COLS; c++) {
            const int64_t j = j0 + tx + c * SIDE;
            if (j < n) y[i * n + j] = __float2half(sum[r][c]);
        }
    }
}

extern "C" void f16_gemm(const __half *x, const __half *w, __half *y, int64_t m, int64_t n,
                         int64_t k, cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + SIDE * COLS - 1) / (SIDE * COLS)),
                    (unsigned)((m + SIDE * ROWS - 1) / (SIDE * ROWS)));
    f16_gemm_kernel<<<grid, dim3(SIDE, SIDE), 0, stream>>>(x, w, y, m, n, k);
}
