// Writes the mask, and no sum: once any number beside a right infinity passed.
// rule: C1
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    (void)A, (void)B;
    C[i * n + j] = j <= i && j + 8 >= i ? sum : (float)-INFINITY;
}

extern "C" void band(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                   cudaStream_t stream)
{
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)m), 32, 0, stream>>>(A, B, C, m, n, k);
}
