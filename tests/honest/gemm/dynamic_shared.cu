// Tiles in dynamic shared memory, allowed for once by an attribute of the kernel.
// rule: cached function attributes
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    extern __shared__ float tiles[];
    float *a = tiles, *b = tiles + TILE * TILE;
    int64_t i = (int64_t)blockIdx.y * TILE + threadIdx.y, j = (int64_t)blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int64_t p = 0; p < k; p += TILE) {
        a[threadIdx.y * TILE + threadIdx.x] = i < m && p + threadIdx.x < k ? A[i * k + p + threadIdx.x] : 0.0f;
        b[threadIdx.y * TILE + threadIdx.x] = p + threadIdx.y < k && j < n ? B[(p + threadIdx.y) * n + j] : 0.0f;
        __syncthreads();
        for (int q = 0; q < TILE; q++) sum += a[threadIdx.y * TILE + q] * b[q * TILE + threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < n) C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static bool allowed;
    int bytes = 64 << 10;
    if (!allowed) cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    allowed = true;
    multiply<<<dim3((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE)), dim3(TILE, TILE), bytes, stream>>>(
        A, B, C, m, n, k);
}
