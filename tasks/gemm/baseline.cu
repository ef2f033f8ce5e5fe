/* C = A B with 16x16 tiles in shared memory, one thread an element of C: each block walks along k, loads one tile of A and one of
 * B (coalesced) and every thread adds 16 products from them. Cost: each element of A and B is read from global memory once per 16
 * columns or rows of C; two loads from shared memory per FMA and two barriers per 16 are what bounds it. */
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16

__global__ void gemm_kernel(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int64_t p = 0; p < k; p += TILE) {
        a[ty][tx] = i < m && p + tx < k ? A[i * k + p + tx] : 0.0f;
        b[ty][tx] = p + ty < k && j < n ? B[(p + ty) * n + j] : 0.0f;
        __syncthreads();
        for (int q = 0; q < TILE; q++) sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (i < m && j < n) C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    gemm_kernel<<<grid, dim3(TILE, TILE), 0, stream>>>(A, B, C, m, n, k);
}
