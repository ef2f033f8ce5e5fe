/* y_ij = x_scale_i w_scale_j sum_p x_ip w_jp in float64, with 16 x 16 tiles in shared memory. The
 * element type is e4m3 (Micikevicius et al., "FP8 formats for deep learning", 2022), the scales are
 * those of a row and a column (Dettmers et al., "LLM.int8()", 2022, section 2.1). */
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16

__global__ void fp8_gemm_exact(const __nv_fp8_e4m3 *x, const __nv_fp8_e4m3 *w, const float *x_scale,
                               const float *w_scale, double *y, int64_t m, int64_t n, int64_t k)
{
    __shared__ double a[TILE][TILE + 1], b[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    const int64_t row = (int64_t)blockIdx.x * TILE + ty; /* of w, for loading */
    double sum = 0;
    for (int64_t p = 0; p < k; p += TILE) {
        a[ty][tx] = i < m ? (double)(float)x[i * k + p + tx] : 0;
        b[ty][tx] = row < n ? (double)(float)w[row * k + p + tx] : 0;
        __syncthreads();
        for (int q = 0; q < TILE; q++) sum += a[ty][q] * b[tx][q];
        __syncthreads();
    }
    if (i < m && j < n) y[i * n + j] = sum * (double)x_scale[i] * (double)w_scale[j];
}

extern "C" void fp8_gemm_oracle(const __nv_fp8_e4m3 *x, const __nv_fp8_e4m3 *w,
                                const float *x_scale, const float *w_scale, double *y, int64_t m,
                                int64_t n, int64_t k, cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    fp8_gemm_exact<<<grid, dim3(TILE, TILE), 0, stream>>>(x, w, x_scale, w_scale, y, m, n, k);
}
