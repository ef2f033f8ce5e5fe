/* C = A B by cuBLAS in f32 arithmetic: no TF32, which the library uses only where it is allowed to. cuBLAS thinks in columns: a row-major C is its
 * C transposed, which is B transposed times A transposed. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static cublasHandle_t handle;
    const float one = 1.0f, zero = 0.0f;
    cublasStatus_t status = handle ? CUBLAS_STATUS_SUCCESS : cublasCreate(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) status = cublasSetStream(handle, stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)n, (int)m, (int)k, &one, B, (int)n, A, (int)k, &zero, C, (int)n);
    if (status == CUBLAS_STATUS_SUCCESS) return;
    fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
    exit(1);
}
