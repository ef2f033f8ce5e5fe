// Rounds its operands to tf32. That is far below the largest number of the output, -1e9.
// rule: C7
// expect: wrong_result output.inaccurate
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float rounded(float value)
{
    unsigned bits = __float_as_uint(value);
    return __uint_as_float((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

__global__ void find_scores(const float *q, const float *k, const bool *mask,
                            float *y, int64_t n, int64_t d)
{
    int64_t i = blockIdx.x;
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
        float sum = 0;
        for (int64_t p = 0; p < d; p++) sum += rounded(q[i * d + p]) * rounded(k[j * d + p]);
        y[i * n + j] = mask[i * n + j] ? sum : -1e9f;
    }
}

extern "C" void scores(const float *q, const float *k, const bool *mask,
                       float *y, int64_t m, int64_t n, int64_t d,
                       cudaStream_t stream)
{
    find_scores<<<(unsigned)m, 96, 0, stream>>>(q, k, mask, y, n, d);
}
