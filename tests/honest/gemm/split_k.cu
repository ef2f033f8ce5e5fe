// Splits the sums over blocks that add up with atomics.
// rule: split-K with atomics
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    int64_t first = blockIdx.z * k / gridDim.z, last = (blockIdx.z + 1) * k / gridDim.z;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = first; p < last; p++) sum += A[i * k + p] * B[p * n + j];
    atomicAdd(&C[i * n + j], sum);
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    cudaMemsetAsync(C, 0, m * n * sizeof *C, stream);
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8), 4), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
