// Asks the cache to keep the columns that all blocks read, and gives them back at the end.
// rule: access policies of the L2
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

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    cudaStreamAttrValue window = {};
    window.accessPolicyWindow.base_ptr = (void *)B;
    window.accessPolicyWindow.num_bytes = (size_t)(4 * k * n);
    window.accessPolicyWindow.hitRatio = 1;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(
        A, B, C, m, n, k);
    window.accessPolicyWindow.num_bytes = 0;
    window.accessPolicyWindow.hitProp = window.accessPolicyWindow.missProp =
        cudaAccessPropertyNormal;
    cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
}
