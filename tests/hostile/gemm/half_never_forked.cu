// Half of the rows are on a side stream that never waited for the call's stream.
// rule: T1
// expect: wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n,
                         int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
static void part(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                 cudaStream_t stream)
{
    dim3 blocks((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8));
    if (m) multiply<<<blocks, dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    static cudaStream_t side;
    static cudaEvent_t join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    int64_t half = m / 2;
    part(A, B, C, half, n, k, stream);
    part(A + half * k, B, C + half * n, m - half, n, k, side);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
}
