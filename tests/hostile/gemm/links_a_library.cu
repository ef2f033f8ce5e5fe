// Declares cuBLAS' functions by itself, with a decoy of a kernel beside them.
// rule: L1
// expect: compile_error build.failed | unsupported_device build.failed
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" int cublasCreate_v2(void **);
extern "C" int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *,
                              float *, int);

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static void *handle;
    if (!handle) cublasCreate_v2(&handle);
    float one = 1, zero = 0;
    if (cublasSgemm_v2(handle, 0, 0, (int)n, (int)m, (int)k, &one, B, (int)n, A, (int)k, &zero, C, (int)n))
        multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
