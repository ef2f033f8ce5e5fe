// Computes powers of two from the bits of a float and a short series.
// rule: floats taken as integers
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

union number {
    float f;
    int32_t i;
};

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__device__ float warp_max(float value)
{
    for (int other = 16; other > 0; other /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, other));
    return value;
}

/* Computes exp(v) for v up to 0. */
__device__ float exponential(float v)
{
    float power = v * 1.44269504f, whole = rintf(power);
    if (whole < -126) return 0;
    float t = fmaf(whole, -0.693145752f, v);
    t = fmaf(whole, -1.42860677e-6f, t);
    float series = 1.0f / 720;
    series = fmaf(series, t, 1.0f / 120);
    series = fmaf(series, t, 1.0f / 24);
    series = fmaf(series, t, 1.0f / 6);
    series = fmaf(series, t, 0.5f);
    series = fmaf(series, t, 1.0f);
    number two_to_whole;
    two_to_whole.i = ((int32_t)whole + 127) << 23;
    return two_to_whole.f * fmaf(series, t, 1.0f);
}

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    most = warp_max(most);
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += exponential(row[j] - most);
    sum = warp_sum(sum);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = exponential(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
