// Each thread computes four by four elements from tiles in shared memory.
// rule: register tiles
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 32
#define EACH 4
__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
    int64_t top = (int64_t)blockIdx.y * TILE, left = (int64_t)blockIdx.x * TILE;
    int at = threadIdx.y * 8 + threadIdx.x;
    float sums[EACH][EACH] = {};
    for (int64_t p = 0; p < k; p += TILE) {
        for (int e = at; e < TILE * TILE; e += 64) {
            int r = e / TILE, c = e % TILE;
            a[r][c] = top + r < m && p + c < k ? A[(top + r) * k + p + c] : 0;
            b[r][c] = p + r < k && left + c < n ? B[(p + r) * n + left + c] : 0;
        }
        __syncthreads();
        for (int q = 0; q < TILE; q++)
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++)
                    sums[i][j] += a[threadIdx.y + 8 * i][q] * b[q][threadIdx.x + 8 * j];
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            int64_t r = top + threadIdx.y + 8 * i, c = left + threadIdx.x + 8 * j;
            if (r < m && c < n) C[r * n + c] = sums[i][j];
        }
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    multiply<<<grid, dim3(8, 8), 0, stream>>>(A, B, C, m, n, k);
}
