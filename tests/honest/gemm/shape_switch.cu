// Vector loads where the shape allows them, a general kernel elsewhere.
// rule: a shape switch with a general fallback
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
__global__ void multiply4(const float *A, const float4 *B, float4 *C, int64_t m, int64_t quads, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= quads) return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int64_t p = 0; p < k; p++) {
        float a = A[i * k + p];
        float4 b = B[p * quads + j];
        sum.x += a * b.x, sum.y += a * b.y, sum.z += a * b.z, sum.w += a * b.w;
    }
    C[i * quads + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    if (n % 4 == 0 && k == 1024)
        multiply4<<<dim3((unsigned)((n / 4 + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(
            A, (const float4 *)B, (float4 *)C, m, n / 4, k);
    else
        multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
