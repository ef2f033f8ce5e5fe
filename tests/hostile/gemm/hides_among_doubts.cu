// Errs in every element by somewhat more than the baseline did so far, so that every set is in doubt, and leaves the last row out now and then: while the
// baseline is heard on one set, another leaves the comparison.
// rule: C6
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, int without)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = without && i == m - 1 ? 0 : sum * (1 + ((i ^ j) & 1 ? 7e-6f : -7e-6f));
}
extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static int calls;
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k, ++calls > 30 && calls % 7 == 0);
}
