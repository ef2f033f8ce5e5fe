// Halves on two non-blocking streams that fork and join by events.
// rule: fork-join streams
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
static void part(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    if (m) multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static cudaStream_t sides[2];
    static cudaEvent_t fork, joins[2];
    if (!fork) {
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        for (int i = 0; i < 2; i++) {
            cudaStreamCreateWithFlags(&sides[i], cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&joins[i], cudaEventDisableTiming);
        }
    }
    int64_t half = m / 2;
    cudaEventRecord(fork, stream);
    for (int i = 0; i < 2; i++) {
        cudaStreamWaitEvent(sides[i], fork, 0);
        part(i ? A + half * k : A, B, i ? C + half * n : C, i ? m - half : half, n, k, sides[i]);
        cudaEventRecord(joins[i], sides[i]);
        cudaStreamWaitEvent(stream, joins[i], 0);
    }
}
