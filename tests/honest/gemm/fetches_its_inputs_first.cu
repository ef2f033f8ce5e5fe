// Fetches its own inputs into the cache on a forked stream while it clears a workspace.
// rule: prefetching of own inputs
// expect: correct
// mode: timed
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}

__global__ void touch(const char *A, const char *B, int64_t a, int64_t b)
{
    int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 128;
    if (i < a) asm volatile("prefetch.global.L2 [%0];" ::"l"(A + i));
    if (i < b) asm volatile("prefetch.global.L2 [%0];" ::"l"(B + i));
}

__global__ void clear(float *C, int64_t count)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) C[i] = 0;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    static cudaStream_t side;
    static cudaEvent_t fork, join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    const int64_t a = 4 * m * k, b = 4 * k * n, blocks = ((a > b ? a : b) / 128 + 255) / 256;
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(side, fork, 0);
    touch<<<(unsigned)blocks, 256, 0, side>>>((const char *)A, (const char *)B, a, b);
    cudaEventRecord(join, side);
    clear<<<(unsigned)((m * n + 255) / 256), 256, 0, stream>>>(C, m * n);
    cudaStreamWaitEvent(stream, join, 0);
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(
        A, B, C, m, n, k);
}
