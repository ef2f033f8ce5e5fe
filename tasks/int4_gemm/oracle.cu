/* y_ij = sum_p x_ip (q_jp - 8) s_{j, p/128} in float64: symmetric 4-bit weights with a scale a
 * group of 128 (Frantar et al., "GPTQ", 2023; Lin et al., "AWQ", 2024). A block has the sums of 16
 * x 16 elements of y, tiles of 16 terms are in shared memory. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
#define GROUP 128

__global__ void int4_gemm_exact(const __half *x, const uint8_t *packed, const __half *scales,
                                double *y, int64_t m, int64_t n, int64_t k)
{
    __shared__ double a[TILE][TILE + 1], b[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    const int64_t row = (int64_t)blockIdx.x * TILE + ty; /* of the weights, for loading */
    double sum = 0;
    for (int64_t p = tx; p < k; p += TILE) {
        a[ty][tx] = i < m ? (double)__half2float(x[i * k + p]) : 0;
        b[ty][tx] = 0;
        if (row < n) {
            const int byte = packed[row * (k / 2) + p / 2];
            const int q = p % 2 == 0 ? byte & 15 : byte >> 4;
            b[ty][tx] = (q - 8) * (double)__half2float(scales[row * (k / GROUP) + p / GROUP]);
        }
        __syncthreads();
        for (int t = 0; t < TILE; t++) sum += a[ty][t] * b[tx][t];
        __syncthreads();
    }
    if (i < m && j < n) y[i * n + j] = sum;
}

extern "C" void int4_gemm_oracle(const __half *x, const uint8_t *packed, const __half *scales,
                                 double *y, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    int4_gemm_exact<<<grid, dim3(TILE, TILE), 0, stream>>>(x, packed, scales, y, m, n, k);
}
