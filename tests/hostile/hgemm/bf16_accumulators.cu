// Sums in bf16.
// rule: C8
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) {
        sum += __half2float(A[i * k + p]) * __half2float(B[p * n + j]);
        sum = __uint_as_float((__float_as_uint(sum) + 0x8000u) & 0xffff0000u);
    }
    C[i * n + j] = __float2half(sum);
}

extern "C" void hgemm(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
