// A dependent launch without a wait: a call could begin under the call before it.
// rule: T1
// expect: correct | wrong_result stream.unordered
// devices: cuda
// at-most: 1.1
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n,
                         int64_t k)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}

static void launch(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                   cudaStream_t stream)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8));
    how.blockDim = dim3(32, 8);
    how.stream = stream;
    how.attrs = &attribute;
    how.numAttrs = 1;
    if (m) cudaLaunchKernelEx(&how, multiply, A, B, C, m, n, k);
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    launch(A, B, C, m, n, k, stream);
}
