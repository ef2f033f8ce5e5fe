/* The 4-bit product with 16 x 16 tiles in shared memory, one thread an element of y: weights become
 * floats, with their scale, when they are loaded. Cost: no tensor cores; two loads from shared
 * memory an FMA, and loads of single bytes, each by two threads. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
#define GROUP 128

__global__ void int4_gemm_kernel(const __half *x, const uint8_t *packed, const __half *scales,
                                 __half *y, int64_t m, int64_t n, int64_t k)
{
    __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    const int64_t row = (int64_t)blockIdx.x * TILE + ty; /* of the weights, for loading */
    float sum = 0.0f;
    for (int64_t p = tx; p < k; p += TILE) {
        a[ty][tx] = i < m ? __half2float(x[i * k + p]) : 0.0f;
        b[ty][tx] = 0.0f;
        if (row < n) {
            const int byte = packed[row * (k / 2) + p / 2];
            const int q = p % 2 == 0 ? byte & 15 : byte >> 4;
            b[ty][tx] = (float)(q - 8) * __half2float(scales[row * (k / GROUP) + p / GROUP]);
        }
        __syncthreads();
        for (int t = 0; t < TILE; t++) sum += a[ty][t] * b[tx][t];
        __syncthreads();
    }
    if (i < m && j < n) y[i * n + j] = __float2half(sum);
}

extern "C" void int4_gemm(const __half *x, const uint8_t *packed, const __half *scales, __half *y,
                          int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    int4_gemm_kernel<<<grid, dim3(TILE, TILE), 0, stream>>>(x, packed, scales, y, m, n, k);
}
