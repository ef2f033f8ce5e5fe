/* y_ij = sum_p x_ip w_ejp with the expert e of row i, in float64 (Gale et al., "MegaBlocks", 2023,
 * section 3). Tiles of 16 x 16 elements of y, aligned to the rows of y: a tile on the border of
 * experts is computed for each of them. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16

__global__ void grouped_gemm_exact(const __nv_bfloat16 *x, const int32_t *offsets,
                                   const __nv_bfloat16 *w, double *y, int64_t rows, int64_t experts,
                                   int64_t n, int64_t k)
{
    __shared__ double a[TILE][TILE + 1], b[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t i0 = (int64_t)blockIdx.y * TILE, i = i0 + ty;
    const int64_t j = (int64_t)blockIdx.x * TILE + tx, row = (int64_t)blockIdx.x * TILE + ty;
    for (int64_t e = 0; e < experts; e++) {
        if (offsets[e + 1] <= i0 || offsets[e] >= i0 + TILE || offsets[e] == offsets[e + 1])
            continue;
        double sum = 0;
        for (int64_t p = tx; p - tx < k; p += TILE) {
            a[ty][tx] = i < rows && p < k ? (double)__bfloat162float(x[i * k + p]) : 0;
            b[ty][tx] = row < n && p < k ? (double)__bfloat162float(w[(e * n + row) * k + p]) : 0;
            __syncthreads();
            for (int t = 0; t < TILE; t++) sum += a[ty][t] * b[tx][t];
            __syncthreads();
        }
        if (i >= offsets[e] && i < offsets[e + 1] && j < n) y[i * n + j] = sum;
    }
}

extern "C" void grouped_gemm_oracle(const __nv_bfloat16 *x, const int32_t *offsets,
                                    const __nv_bfloat16 *w, double *y, int64_t rows,
                                    int64_t experts, int64_t n, int64_t k, cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((rows + TILE - 1) / TILE));
    grouped_gemm_exact<<<grid, dim3(TILE, TILE), 0, stream>>>(x, offsets, w, y, rows, experts, n,
                                                              k);
}
