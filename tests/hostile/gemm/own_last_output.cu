// Copies what its last call left elsewhere: right, if inputs were the same each time.
// rule: C1
// expect: wrong_result output.mismatch
// suspects-cpu: state.stale_output
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
extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static const float *last;
    if (last && last != C)
        cudaMemcpyAsync(C, last, m * n * sizeof *C, cudaMemcpyDeviceToDevice, stream);
    else
        multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
    last = C;
}
