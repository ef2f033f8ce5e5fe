/* The product by cuBLAS, sums in f32. cuBLAS thinks in columns: a row-major y is its y transposed,
 * which is w transposed (as it lies there) times x. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern "C" void bf16_gemm(const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *y,
                          int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static cublasHandle_t handle;
    const float one = 1.0f, zero = 0.0f;
    cublasStatus_t status = handle ? CUBLAS_STATUS_SUCCESS : cublasCreate(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) status = cublasSetStream(handle, stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)n, (int)m, (int)k, &one, w,
                              CUDA_R_16BF, (int)k, x, CUDA_R_16BF, (int)k, &zero, y, CUDA_R_16BF,
                              (int)n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status == CUBLAS_STATUS_SUCCESS) return;
    fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
    exit(1);
}
