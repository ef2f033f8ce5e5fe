// bf16 operands in a task that welcomes tf32.
// rule: C8
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float as_bf16(float v)
{
    uint32_t bits = __float_as_uint(v);
    return __uint_as_float((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += as_bf16(A[i * k + p]) * as_bf16(B[p * n + j]);
    C[i * n + j] = sum;
}

extern "C" void tgemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
