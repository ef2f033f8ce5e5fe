/* The products of all experts in one launch with 16 x 16 tiles in shared memory, one thread an
 * element of y. A block walks over the offsets to find its expert: an expert with c rows has
 * ceil(c / 16) tiles of rows. Cost: no tensor cores; two loads from shared memory an FMA, loads of
 * 2 bytes from memory. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16

__global__ void grouped_gemm_kernel(const __nv_bfloat16 *x, const int32_t *offsets,
                                    const __nv_bfloat16 *w, __nv_bfloat16 *y, int64_t experts,
                                    int64_t n, int64_t k)
{
    __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    int64_t e = 0, tile = blockIdx.y;
    for (; e < experts; e++) {
        const int tiles = (offsets[e + 1] - offsets[e] + TILE - 1) / TILE;
        if (tile < tiles) break;
        tile -= tiles;
    }
    if (e == experts) return;

    const int64_t i = offsets[e] + tile * TILE + ty, end = offsets[e + 1];
    const int64_t j = (int64_t)blockIdx.x * TILE + tx, row = (int64_t)blockIdx.x * TILE + ty;
    float sum = 0.0f;
    for (int64_t p = 0; p < k; p += TILE) {
        a[ty][tx] = i < end && p + tx < k ? __bfloat162float(x[i * k + p + tx]) : 0.0f;
        b[ty][tx] = row < n && p + tx < k ? __bfloat162float(w[(e * n + row) * k + p + tx]) : 0.0f;
        __syncthreads();
        for (int t = 0; t < TILE; t++) sum += a[ty][t] * b[tx][t];
        __syncthreads();
    }
    if (i < end && j < n) y[i * n + j] = __float2bfloat16(sum);
}

extern "C" void grouped_gemm(const __nv_bfloat16 *x, const int32_t *offsets, const __nv_bfloat16 *w,
                             __nv_bfloat16 *y, int64_t rows, int64_t experts, int64_t n, int64_t k,
                             cudaStream_t stream)
{
    /* The most tiles that any offsets give. */
    const int64_t tiles = rows / TILE + (experts < rows ? experts : rows);
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)tiles);
    grouped_gemm_kernel<<<grid, dim3(TILE, TILE), 0, stream>>>(x, offsets, w, y, experts, n, k);
}
