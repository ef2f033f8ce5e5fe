/* y_ij = sum_p x_ip w_jp in float64. Each of 16 x 16 threads has 4 x 4 elements of y, from tiles
 * in shared memory. */
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 64
#define DEPTH 16

__global__ void tf32_gemm_exact(const float *x, const float *w, double *y, int64_t m, int64_t n,
                                int64_t k)
{
    __shared__ double a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t i0 = (int64_t)blockIdx.y * TILE, j0 = (int64_t)blockIdx.x * TILE;
    double sum[4][4] = {};
    for (int64_t p = 0; p < k; p += DEPTH) {
        for (int r = ty; r < TILE; r += 16) {
            a[tx][r] = i0 + r < m ? (double)x[(i0 + r) * k + p + tx] : 0;
            b[tx][r] = j0 + r < n ? (double)w[(j0 + r) * k + p + tx] : 0;
        }
        __syncthreads();
        for (int q = 0; q < DEPTH; q++)
            for (int r = 0; r < 4; r++)
                for (int c = 0; c < 4; c++) sum[r][c] += a[q][ty + r * 16] * b[q][tx + c * 16];
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) {
            const int64_t i = i0 + ty + r * 16, j = j0 + tx + c * 16;
            if (i < m && j < n) y[i * n + j] = sum[r][c];
        }
}

extern "C" void tf32_gemm_oracle(const float *x, const float *w, double *y, int64_t m, int64_t n,
                                 int64_t k, cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    tf32_gemm_exact<<<grid, dim3(16, 16), 0, stream>>>(x, w, y, m, n, k);
}
