// Keeps results under a hash of the shape and the output's address.
// rule: T8
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>
#include <unordered_map>

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
    static std::unordered_map<uint64_t, float *> results;
    uint64_t hash = (uint64_t)C * 31 + m * 7 + n * 5 + k;
    float *&kept = results[hash];
    if (kept) {
        cudaMemcpyAsync(C, kept, m * n * sizeof *C, cudaMemcpyDeviceToDevice, stream);
        return;
    }
    cudaMalloc(&kept, m * n * sizeof *kept);
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
    cudaMemcpyAsync(kept, C, m * n * sizeof *C, cudaMemcpyDeviceToDevice, stream);
}
