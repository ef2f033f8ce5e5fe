/* Attention as three steps: scores by cuBLAS into memory, softmax of their rows, and their product with v by cuBLAS again; all in f32, no TF32. What
 * one writes without a fused kernel: cuDNN's fused attention has no f32. Row-major matrices are cuBLAS's transposed. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WIDTH 64
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
    for (int i = 1; i < THREADS / 32; i++) value = maximum ? fmaxf(value, part[i]) : value + part[i];
    return value;
}

__global__ void softmax(float *scores, int64_t seq)
{
    float *row = scores + blockIdx.x * seq, largest = -INFINITY, sum = 0.0f;
    for (int64_t j = threadIdx.x; j < seq; j += THREADS) largest = fmaxf(largest, row[j]);
    largest = block_reduce(largest, true);
    for (int64_t j = threadIdx.x; j < seq; j += THREADS) sum += row[j] = expf(row[j] - largest);
    sum = block_reduce(sum, false);
    for (int64_t j = threadIdx.x; j < seq; j += THREADS) row[j] /= sum;
}

extern "C" void attention(const float *q, const float *k, const float *v, float *o, int64_t seq, cudaStream_t stream)
{
    static cublasHandle_t handle;
    static float *scores;
    static int64_t room;
    const float scale = 1.0f / sqrtf(WIDTH), one = 1.0f, zero = 0.0f;
    int n = (int)seq;
    if (!handle) check(cublasCreate(&handle));
    if (room < seq * seq) {
        cudaStreamSynchronize(stream);
        cudaFree(scores);
        if (cudaMalloc(&scores, seq * seq * sizeof(float)) != cudaSuccess) exit(1);
        room = seq * seq;
    }
    check(cublasSetStream(handle, stream));
    check(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, WIDTH, &scale, k, WIDTH, q, WIDTH, &zero, scores, n));
    softmax<<<(unsigned)seq, THREADS, 0, stream>>>(scores, seq);
    check(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, WIDTH, n, n, &one, v, WIDTH, scores, n, &zero, o, WIDTH));
}
