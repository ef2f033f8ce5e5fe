// Writes whole tiles of 32 by 32, also where the matrix ends before.
// rule: C13
// expect: contract_violation guard.broken | wrong_result output.mismatch | crash device.error | crash runner.crashed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * 32 + threadIdx.x, i = (int64_t)blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    if (i < m && j < n)
        for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
