// Unrolls by pasting tokens together.
// rule: token-paste unrolling
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define SUM(number) sum##number
#define STEP(number) \
    if (p + number < k) SUM(number) += A[i * k + p + number] * B[(p + number) * n + j];
#define FOUR(what) what(0) what(1) what(2) what(3)

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float SUM(0) = 0, SUM(1) = 0, SUM(2) = 0, SUM(3) = 0;
    for (int64_t p = 0; p < k; p += 4) {
        FOUR(STEP)
    }
    C[i * n + j] = (SUM(0) + SUM(1)) + (SUM(2) + SUM(3));
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
