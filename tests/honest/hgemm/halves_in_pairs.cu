// Loads f16 in pairs where it can, sums in f32.
// rule: precision that is kept
// expect: correct
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float even = 0, odd = 0;
    if (k % 2 == 0)
        for (int64_t p = 0; p < k; p += 2) {
            float2 a = __half22float2(*(const __half2 *)&A[i * k + p]);
            even += a.x * __half2float(B[p * n + j]);
            odd += a.y * __half2float(B[(p + 1) * n + j]);
        }
    else
        for (int64_t p = 0; p < k; p++) even += __half2float(A[i * k + p]) * __half2float(B[p * n + j]);
    C[i * n + j] = __float2half(even + odd);
}

extern "C" void hgemm(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
