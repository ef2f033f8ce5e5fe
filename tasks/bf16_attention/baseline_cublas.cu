/* Attention in three steps for one head after the other: scores by cuBLAS into memory, softmax of
 * their rows, and the product with v by cuBLAS again, on tensor cores. It is the usual way without
 * a fused kernel. Row-major matrices are cuBLAS's transposed. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DIM 128
#define THREADS 256

static void check(cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS) return;
    fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
    exit(1);
}

__device__ float block_reduce(float value, bool maximum)
{
    __shared__ float part[THREADS / 32];
    for (int step = 16; step; step /= 2) {
        float other = __shfl_xor_sync(0xffffffff, value, step);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[0];
    for (int i = 1; i < THREADS / 32; i++)
        value = maximum ? fmaxf(value, part[i]) : value + part[i];
    return value;
}

/* One block a query. Weights of keys that a query does not see are 0. */
__global__ void softmax(const float *scores, __nv_bfloat16 *weights, int64_t seq, int64_t causal)
{
    const float *row = scores + blockIdx.x * seq;
    __nv_bfloat16 *to = weights + blockIdx.x * seq;
    const int64_t end = causal ? blockIdx.x + 1 : seq;
    float largest = -INFINITY, sum = 0.0f;
    for (int64_t j = threadIdx.x; j < end; j += THREADS) largest = fmaxf(largest, row[j]);
    largest = block_reduce(largest, true);
    for (int64_t j = threadIdx.x; j < end; j += THREADS) sum += expf(row[j] - largest);
    sum = block_reduce(sum, false);
    for (int64_t j = threadIdx.x; j < seq; j += THREADS)
        to[j] = __float2bfloat16(j < end ? expf(row[j] - largest) / sum : 0.0f);
}

extern "C" void bf16_attention(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
                               const __nv_bfloat16 *v, __nv_bfloat16 *o, int64_t heads, int64_t seq,
                               int64_t causal, cudaStream_t stream)
{
    static cublasHandle_t handle;
    static float *scores;
    static __nv_bfloat16 *weights;
    static int64_t room;
    const float scale = 1.0f / sqrtf(DIM), one = 1.0f, zero = 0.0f;
    const int n = (int)seq;
    if (!handle) check(cublasCreate(&handle));
    if (room < seq) {
        cudaStreamSynchronize(stream);
        cudaFree(scores);
        cudaFree(weights);
        if (cudaMalloc(&scores, seq * seq * sizeof *scores) != cudaSuccess ||
            cudaMalloc(&weights, seq * seq * sizeof *weights) != cudaSuccess)
            exit(1);
        room = seq;
    }
    check(cublasSetStream(handle, stream));
    for (int64_t at = 0; at < heads * seq * DIM; at += seq * DIM) {
        check(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, DIM, &scale, k + at, CUDA_R_16BF,
                           DIM, q + at, CUDA_R_16BF, DIM, &zero, scores, CUDA_R_32F, n,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
        softmax<<<(unsigned)seq, THREADS, 0, stream>>>(scores, weights, seq, causal);
        check(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, DIM, n, n, &one, v + at, CUDA_R_16BF,
                           DIM, weights, CUDA_R_16BF, n, &zero, o + at, CUDA_R_16BF, DIM,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
}
