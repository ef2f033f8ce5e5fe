// A few blocks take tiles from a counter, which a memset clears in each call.
// rule: persistent blocks
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
__global__ void multiply(const float *A, const float *B, float *C, int *next, int64_t m, int64_t n,
                         int64_t k)
{
    __shared__ int tile;
    int64_t across = (n + TILE - 1) / TILE, tiles = across * ((m + TILE - 1) / TILE);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0) tile = atomicAdd(next, 1);
        __syncthreads();
        if (tile >= tiles) return;
        int64_t i = tile / across * TILE + threadIdx.y, j = tile % across * TILE + threadIdx.x;
        if (i >= m || j >= n) continue;
        float sum = 0;
        for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
        C[i * n + j] = sum;
    }
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    static int *next;
    if (!next) cudaMalloc(&next, sizeof *next);
    cudaMemsetAsync(next, 0, sizeof *next, stream);
    multiply<<<64, dim3(TILE, TILE), 0, stream>>>(A, B, C, next, m, n, k);
}
