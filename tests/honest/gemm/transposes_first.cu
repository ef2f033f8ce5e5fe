// Transposes B into a workspace in every call, to read it in order.
// rule: grow-only static workspaces
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void transpose(const float *B, float *T, int64_t n, int64_t k)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n * k) T[e % n * k + e / n] = B[e];
}

__global__ void multiply(const float *A, const float *T, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * T[j * k + p];
    C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static float *workspace;
    static int64_t capacity;
    if (n * k > capacity) {
        cudaFree(workspace);
        cudaMalloc(&workspace, n * k * sizeof(float));
        capacity = n * k;
    }
    transpose<<<(unsigned)((n * k + 255) / 256), 256, 0, stream>>>(B, workspace, n, k);
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, workspace, C, m, n, k);
}
