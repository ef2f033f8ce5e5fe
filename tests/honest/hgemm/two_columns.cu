// Computes two columns at once and adds two sums each as half2, where n is even.
// rule: half2 arithmetic
// expect: correct
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const __half *A, const __half *B, __half *C, int64_t m, int64_t n,
                         int64_t k)
{
    int64_t j = 2 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
    int64_t i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    bool paired = n % 2 == 0;
    float2 low = {0, 0}, high = {0, 0};
    for (int64_t p = 0; p < k; p++) {
        float a = __half2float(A[i * k + p]);
        const __half *at = &B[p * n + j];
        float2 b = paired ? __half22float2(*(const __half2 *)at)
                          : make_float2(__half2float(at[0]), j + 1 < n ? __half2float(at[1]) : 0);
        float2 &sum = p < k / 2 ? low : high;
        sum.x += a * b.x, sum.y += a * b.y;
    }
    __half2 sum = __hadd2(__floats2half2_rn(low.x, low.y), __floats2half2_rn(high.x, high.y));
    C[i * n + j] = __low2half(sum);
    if (j + 1 < n) C[i * n + j + 1] = __high2half(sum);
}

extern "C" void hgemm(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k,
                      cudaStream_t stream)
{
    dim3 grid((unsigned)((n / 2 + 32) / 32), (unsigned)((m + 7) / 8));
    multiply<<<grid, dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
