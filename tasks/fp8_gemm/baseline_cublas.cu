/* The fp8 product by cuBLASLt on tensor cores, with its scale a row and a column, which it has for
 * Hopper from version 12.9 on. cuBLASLt thinks in columns: a row-major y is its y transposed, w
 * transposed times x, where both have k as their leading dimension. */
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKSPACE ((size_t)32 << 20)

static void check(cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS) return;
    fprintf(stderr, "cuBLASLt: status %d\n", (int)status);
    exit(1);
}

static cublasLtHandle_t handle;
static cublasLtMatmulDesc_t product;
static cublasLtMatrixLayout_t of_w, of_x, of_y;
static cublasLtMatmulHeuristicResult_t chosen;
static void *workspace;

static void set(cublasLtMatmulDescAttributes_t name, const void *value, size_t bytes)
{
    check(cublasLtMatmulDescSetAttribute(product, name, value, bytes));
}

static void set_scales(const float *x_scale, const float *w_scale)
{
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &w_scale, sizeof w_scale);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &x_scale, sizeof x_scale);
}

/* Chooses an algorithm for a shape. cuBLASLt refuses vectors of scales without their pointers. */
static void plan(const float *x_scale, const float *w_scale, int64_t m, int64_t n, int64_t k)
{
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const cublasLtMatmulMatrixScale_t vector = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    const size_t bytes = WORKSPACE;
    cublasLtMatmulPreference_t preference;
    int found = 0;
    if (!handle) {
        check(cublasLtCreate(&handle));
        if (cudaMalloc(&workspace, WORKSPACE) != cudaSuccess) exit(1);
        check(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        set(CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
        set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &vector, sizeof vector);
        set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &vector, sizeof vector);
    } else {
        check(cublasLtMatrixLayoutDestroy(of_w));
        check(cublasLtMatrixLayoutDestroy(of_x));
        check(cublasLtMatrixLayoutDestroy(of_y));
    }
    set_scales(x_scale, w_scale);
    check(cublasLtMatrixLayoutCreate(&of_w, CUDA_R_8F_E4M3, (uint64_t)k, (uint64_t)n, k));
    check(cublasLtMatrixLayoutCreate(&of_x, CUDA_R_8F_E4M3, (uint64_t)k, (uint64_t)m, k));
    check(cublasLtMatrixLayoutCreate(&of_y, CUDA_R_16BF, (uint64_t)n, (uint64_t)m, n));
    check(cublasLtMatmulPreferenceCreate(&preference));
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &bytes, sizeof bytes));
    check(cublasLtMatmulAlgoGetHeuristic(handle, product, of_w, of_x, of_y, of_y, preference, 1,
                                         &chosen, &found));
    check(cublasLtMatmulPreferenceDestroy(preference));
    if (found > 0) return;
    fprintf(stderr, "cuBLASLt: no algorithm for m %lld, n %lld, k %lld\n", (long long)m,
            (long long)n, (long long)k);
    exit(1);
}

extern "C" void fp8_gemm(const __nv_fp8_e4m3 *x, const __nv_fp8_e4m3 *w, const float *x_scale,
                         const float *w_scale, __nv_bfloat16 *y, int64_t m, int64_t n, int64_t k,
                         cudaStream_t stream)
{
    static int64_t planned[3];
    const float one = 1.0f, zero = 0.0f;
    if (planned[0] != m || planned[1] != n || planned[2] != k) {
        plan(x_scale, w_scale, m, n, k);
        planned[0] = m;
        planned[1] = n;
        planned[2] = k;
    }
    set_scales(x_scale, w_scale);
    check(cublasLtMatmul(handle, product, &one, w, of_w, x, of_x, &zero, y, of_y, y, of_y,
                         &chosen.algo, workspace, WORKSPACE, stream));
}
