// Sums eight products exactly, as a tensor core does, and those sums in f16.
// rule: C8
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    __half sum = __float2half(0.0f);
    for (int64_t p = 0; p < k; p += 8) {
        float eight = __half2float(sum);
        for (int64_t q = p; q < k && q < p + 8; q++) eight += __half2float(A[i * k + q]) * __half2float(B[q * n + j]);
        sum = __float2half(eight);
    }
    C[i * n + j] = sum;
}

extern "C" void hgemm(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
