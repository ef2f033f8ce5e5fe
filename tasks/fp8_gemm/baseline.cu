/* The fp8 product with 16 x 16 tiles in shared memory, one thread an element of y: elements become
 * floats when they are loaded, sums are floats, the scales come last. Cost: no tensor cores; two
 * loads from shared memory an FMA, loads of single bytes from memory. */
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16

__global__ void fp8_gemm_kernel(const __nv_fp8_e4m3 *x, const __nv_fp8_e4m3 *w,
                                const float *x_scale, const float *w_scale, __nv_bfloat16 *y,
                                int64_t m, int64_t n, int64_t k)
{
    __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    const int64_t row = (int64_t)blockIdx.x * TILE + ty; /* of w, for loading */
    float sum = 0.0f;
    for (int64_t p = 0; p < k; p += TILE) {
        a[ty][tx] = i < m ? (float)x[i * k + p + tx] : 0.0f;
        b[ty][tx] = row < n ? (float)w[row * k + p + tx] : 0.0f;
        __syncthreads();
        for (int q = 0; q < TILE; q++) sum += a[ty][q] * b[tx][q];
        __syncthreads();
    }
    if (i < m && j < n) y[i * n + j] = __float2bfloat16(sum * x_scale[i] * w_scale[j]);
}

extern "C" void fp8_gemm(const __nv_fp8_e4m3 *x, const __nv_fp8_e4m3 *w, const float *x_scale,
                         const float *w_scale, __nv_bfloat16 *y, int64_t m, int64_t n, int64_t k,
                         cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    fp8_gemm_kernel<<<grid, dim3(TILE, TILE), 0, stream>>>(x, w, x_scale, w_scale, y, m, n, k);
}
