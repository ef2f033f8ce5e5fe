// Keeps tiles of f16 in shared memory, and sums in f32.
// rule: f32 accumulators of f16 products
// expect: correct
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
__global__ void multiply(const __half *A, const __half *B, __half *C, int64_t m, int64_t n,
                         int64_t k)
{
    __shared__ __half a[TILE][TILE], b[TILE][TILE];
    int64_t i = (int64_t)blockIdx.y * TILE + threadIdx.y,
            j = (int64_t)blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int64_t p = 0; p < k; p += TILE) {
        bool has_a = i < m && p + threadIdx.x < k, has_b = p + threadIdx.y < k && j < n;
        a[threadIdx.y][threadIdx.x] = has_a ? A[i * k + p + threadIdx.x] : __float2half(0);
        b[threadIdx.y][threadIdx.x] = has_b ? B[(p + threadIdx.y) * n + j] : __float2half(0);
        __syncthreads();
        for (int q = 0; q < TILE; q++)
            sum += __half2float(a[threadIdx.y][q]) * __half2float(b[q][threadIdx.x]);
        __syncthreads();
    }
    if (i < m && j < n) C[i * n + j] = __float2half(sum);
}

extern "C" void hgemm(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k,
                      cudaStream_t stream)
{
    dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    multiply<<<grid, dim3(TILE, TILE), 0, stream>>>(A, B, C, m, n, k);
}
