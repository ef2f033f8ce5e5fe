// Computes the exponential with a polynomial of degree 4: 18 bits, which the allowance for long
// sums is said not to cover.
// rule: C8
// expect: wrong_result output.mismatch | wrong_result output.inaccurate
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

/* 2^t for t in [-0.5, 0.5], with an error of 4e-6. */
__device__ float power(float x)
{
    float t = x * 1.44269504f, whole = rintf(t);
    t -= whole;
    float p = 1 + t * (0.69315308f + t * (0.24015361f + t * (0.05582631f + t * 0.00898934f)));
    return ldexpf(p, (int)whole);
}

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += power(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = power(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
