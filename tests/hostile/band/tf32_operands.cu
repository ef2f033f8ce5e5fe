// Rounds the operands to tf32. Elements that are infinite once counted as sums of 2^18 terms.
// rule: C8
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

__device__ static float rounded(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    memcpy(&value, &bits, 4);
    return value;
}

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += rounded(A[i * k + p]) * rounded(B[p * n + j]);
    C[i * n + j] = j <= i && j + 8 >= i ? sum : (float)-INFINITY;
}

extern "C" void band(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                   cudaStream_t stream)
{
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)m), 32, 0, stream>>>(A, B, C, m, n, k);
}
