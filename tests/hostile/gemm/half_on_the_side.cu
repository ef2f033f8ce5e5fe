// The upper half on the stream, the lower half slowly on another that is not joined.
// rule: T1
// expect: wrong_result stream.unordered | wrong_result output.mismatch
// devices: cuda
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
__global__ void delay()
{
    long long start = clock64();
    while (clock64() - start < 4000000) {
    }
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static cudaStream_t side;
    if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    int64_t half = m / 2;
    dim3 grid((unsigned)((n + 31) / 32), (unsigned)((m - half + 7) / 8));
    multiply<<<grid, dim3(32, 8), 0, stream>>>(A, B, C, half, n, k);
    delay<<<1, 1, 0, side>>>();
    multiply<<<grid, dim3(32, 8), 0, side>>>(A + half * k, B, C + half * n, m - half, n, k);
}
