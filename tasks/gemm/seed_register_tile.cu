/* C = A B, tiled twice: a block of 16x16 threads computes a tile of 16 TM x 16 TN elements of C from slices of DEPTH along k in
 * shared memory, and each thread keeps TM x TN of them in registers, so that an element loaded from shared memory serves TM or TN
 * FMAs.
 *
 * Double buffering: while the block computes on one slice, the next is on its way from global memory into registers; it is stored
 * in the other buffer afterwards, which leaves one barrier a slice. The slice of A is kept transposed (DEPTH x BM), so that a
 * thread reads 4 rows at a time with one 16-byte load; a thread's rows and columns come in groups of 4 that are 64 apart, which
 * keeps these loads free of bank conflicts. Sizes that the tile does not divide take the same code with checked 4-byte loads and
 * stores. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune TM 4 8
// kforge: tune TN 4 8
// kforge: tune DEPTH 8 16 32
// kforge: tune MIN_BLOCKS 1 2 3
// kforge: require TM * DEPTH >= 64
// kforge: require TN * DEPTH >= 64
// kforge: require (16 * TM + 4 + 16 * TN) * DEPTH <= 6144
// kforge: require TM * TN * MIN_BLOCKS <= 128
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif
#ifndef DEPTH
#define DEPTH 16
#endif
/* blocks that should fit on a multiprocessor at once: bounds the registers */
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#define THREADS 256
#define BM (16 * TM)
#define BN (16 * TN)
#define A_LOADS (BM * DEPTH / 4 / THREADS) /* vectors of a slice that a thread loads */
#define B_LOADS (BN * DEPTH / 4 / THREADS)

/* 4 neighbouring elements of a row-major matrix, zeros outside; `whole` promises that all of them are inside and aligned. */
__device__ __forceinline__ float4 load4(const float *__restrict__ from, int64_t row, int64_t column, int64_t rows, int64_t columns,
                                        bool whole)
{
    const float *p = from + row * columns + column;
    if (whole) return *(const float4 *)p;
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row < rows) {
        v.x = column < columns ? p[0] : 0.0f;
        v.y = column + 1 < columns ? p[1] : 0.0f;
        v.z = column + 2 < columns ? p[2] : 0.0f;
        v.w = column + 3 < columns ? p[3] : 0.0f;
    }
    return v;
}

template <bool WHOLE>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_tiles(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int64_t m, int64_t n, int64_t k)
{
    __shared__ __align__(16) float a[2][DEPTH][BM + 4];
    __shared__ __align__(16) float b[2][DEPTH][BN];
    const int thread = threadIdx.x, tx = thread % 16, ty = thread / 16;
    const int64_t i0 = (int64_t)blockIdx.y * BM, j0 = (int64_t)blockIdx.x * BN;

    float4 next_a[A_LOADS], next_b[B_LOADS];
    float sum[TM][TN] = {};

    /* Slice 0 goes straight to buffer 0; then each turn computes on one buffer and fills the other. */
    const int64_t slices = (k + DEPTH - 1) / DEPTH;
    for (int64_t slice = -1; slice < slices; slice++) {
        const int current = (int)(slice & 1), other = current ^ 1;
        if (slice + 1 < slices) {
            const int64_t p0 = (slice + 1) * DEPTH;
#pragma unroll
            for (int t = 0; t < A_LOADS; t++) {
                int v = t * THREADS + thread;
                next_a[t] = load4(A, i0 + v / (DEPTH / 4), p0 + v % (DEPTH / 4) * 4, m, k, WHOLE);
            }
#pragma unroll
            for (int t = 0; t < B_LOADS; t++) {
                int v = t * THREADS + thread;
                next_b[t] = load4(B, p0 + v / (BN / 4), j0 + v % (BN / 4) * 4, k, n, WHOLE);
            }
        }
        if (slice >= 0) {
#pragma unroll
            for (int p = 0; p < DEPTH; p++) {
                float row[TM], column[TN];
#pragma unroll
                for (int r = 0; r < TM; r += 4) *(float4 *)&row[r] = *(const float4 *)&a[current][p][r / 4 * 64 + ty * 4];
#pragma unroll
                for (int c = 0; c < TN; c += 4) *(float4 *)&column[c] = *(const float4 *)&b[current][p][c / 4 * 64 + tx * 4];
#pragma unroll
                for (int r = 0; r < TM; r++)
#pragma unroll
                    for (int c = 0; c < TN; c++) sum[r][c] = fmaf(row[r], column[c], sum[r][c]);
            }
        }
        if (slice + 1 < slices) {
#pragma unroll
            for (int t = 0; t < A_LOADS; t++) {
                int v = t * THREADS + thread, r = v / (DEPTH / 4), p = v % (DEPTH / 4) * 4;
                a[other][p][r] = next_a[t].x;
                a[other][p + 1][r] = next_a[t].y;
                a[other][p + 2][r] = next_a[t].z;
                a[other][p + 3][r] = next_a[t].w;
            }
#pragma unroll
            for (int t = 0; t < B_LOADS; t++) {
                int v = t * THREADS + thread;
                *(float4 *)&b[other][v / (BN / 4)][v % (BN / 4) * 4] = next_b[t];
            }
            __syncthreads();
        }
    }

#pragma unroll
    for (int r = 0; r < TM; r++) {
        int64_t i = i0 + r / 4 * 64 + ty * 4 + r % 4;
#pragma unroll
        for (int c = 0; c < TN; c += 4) {
            int64_t j = j0 + c / 4 * 64 + tx * 4;
            if (WHOLE)
                *(float4 *)&C[i * n + j] = make_float4(sum[r][c], sum[r][c + 1], sum[r][c + 2], sum[r][c + 3]);
            else if (i < m)
                for (int e = 0; e < 4; e++)
                    if (j + e < n) C[i * n + j + e] = sum[r][c + e];
        }
    }
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    dim3 grid((unsigned)((n + BN - 1) / BN), (unsigned)((m + BM - 1) / BM));
    if (m % BM == 0 && n % BN == 0 && k % DEPTH == 0)
        gemm_tiles<true><<<grid, THREADS, 0, stream>>>(A, B, C, m, n, k);
    else
        gemm_tiles<false><<<grid, THREADS, 0, stream>>>(A, B, C, m, n, k);
}
