// Blocks walk groups of tiles in an order that suits the L2 cache.
// rule: swizzled blocks
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
#define GROUP 4
__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t down = (m + TILE - 1) / TILE, across = (n + TILE - 1) / TILE;
    int64_t group = blockIdx.x / (GROUP * across), first = group * GROUP;
    int64_t height = down - first < GROUP ? down - first : GROUP;
    int64_t within = blockIdx.x % (GROUP * across);
    int64_t i = (first + within % height) * TILE + threadIdx.y;
    int64_t j = within / height * TILE + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum = fmaf(A[i * k + p], B[p * n + j], sum);
    C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    int64_t tiles = (m + TILE - 1) / TILE * ((n + TILE - 1) / TILE);
    multiply<<<(unsigned)tiles, dim3(TILE, TILE), 0, stream>>>(A, B, C, m, n, k);
}
