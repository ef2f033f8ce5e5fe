//@ move OUTPUTS 0:0.60 1:0.25 2:0.15 | a thread computes one output / four columns of a row / a 4 x 4 block
//@ move OPERANDS 0:0.45 1:0.55 | operands come from global memory / through tiles in shared memory
//@ move UNROLL 0:0.70 1:0.30 | the loop over k as it is / unrolled by four
//@ move RESTRICT 0:0.55 1:0.45 | plain pointers / pointers that promise not to alias
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK 8 16 32
#ifndef BLOCK
#define BLOCK 16
#endif
//@ if RESTRICT 0
#define POINTER
//@ end
//@ if RESTRICT 1
#define POINTER __restrict__
//@ end
//@ if OUTPUTS 0
#define DOWN 1
#define ACROSS 1
//@ end
//@ if OUTPUTS 1
#define DOWN 1
#define ACROSS 4
//@ end
//@ if OUTPUTS 2
#define DOWN 4
#define ACROSS 4
//@ end
#define DEPTH 16

__global__ void gemm_kernel(const float *POINTER A, const float *POINTER B, float *POINTER C, int64_t m, int64_t n, int64_t k)
{
    int64_t i0 = (int64_t)blockIdx.y * BLOCK * DOWN, j0 = (int64_t)blockIdx.x * BLOCK * ACROSS;
    int64_t i = i0 + threadIdx.y * DOWN, j = j0 + threadIdx.x * ACROSS;
    float sum[DOWN][ACROSS];
    for (int r = 0; r < DOWN; r++)
        for (int c = 0; c < ACROSS; c++) sum[r][c] = 0.0f;
//@ if OPERANDS 0
    if (i >= m || j >= n) return;
    int64_t below[DOWN], beside[ACROSS]; /* the last row and column again where there are fewer */
    for (int r = 0; r < DOWN; r++) below[r] = i + r < m ? i + r : m - 1;
    for (int c = 0; c < ACROSS; c++) beside[c] = j + c < n ? j + c : n - 1;
//@ if UNROLL 1
#pragma unroll 4
//@ end
    for (int64_t p = 0; p < k; p++)
        for (int r = 0; r < DOWN; r++)
            for (int c = 0; c < ACROSS; c++) sum[r][c] += A[below[r] * k + p] * B[p * n + beside[c]];
//@ end
//@ if OPERANDS 1
    __shared__ float a[BLOCK * DOWN][DEPTH], b[DEPTH][BLOCK * ACROSS];
    int thread = threadIdx.y * BLOCK + threadIdx.x;
    for (int64_t p = 0; p < k; p += DEPTH) {
        for (int e = thread; e < BLOCK * DOWN * DEPTH; e += BLOCK * BLOCK) {
            int r = e / DEPTH, q = e % DEPTH;
            a[r][q] = i0 + r < m && p + q < k ? A[(i0 + r) * k + p + q] : 0.0f;
        }
        for (int e = thread; e < DEPTH * BLOCK * ACROSS; e += BLOCK * BLOCK) {
            int q = e / (BLOCK * ACROSS), c = e % (BLOCK * ACROSS);
            b[q][c] = p + q < k && j0 + c < n ? B[(p + q) * n + j0 + c] : 0.0f;
        }
        __syncthreads();
//@ if UNROLL 1
#pragma unroll 4
//@ end
        for (int q = 0; q < DEPTH; q++)
            for (int r = 0; r < DOWN; r++)
                for (int c = 0; c < ACROSS; c++) sum[r][c] += a[threadIdx.y * DOWN + r][q] * b[q][threadIdx.x * ACROSS + c];
        __syncthreads();
    }
//@ end
    for (int r = 0; r < DOWN; r++)
        for (int c = 0; c < ACROSS; c++)
            if (i + r < m && j + c < n) C[(i + r) * n + j + c] = sum[r][c];
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
//@ bug m
    int64_t down = BLOCK * DOWN, across = BLOCK * ACROSS;
    dim3 grid((unsigned)((n + across - 1) / across), (unsigned)((m + down - 1) / down));
    gemm_kernel<<<grid, dim3(BLOCK, BLOCK), 0, stream>>>(A, B, C, m, n, k);
}
