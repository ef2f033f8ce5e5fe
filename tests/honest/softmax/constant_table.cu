// Powers of two from a table in constant memory that a constructor computes and every call uploads.
// rule: global constructors and constant tables
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__constant__ float powers[33];
struct table {
    float values[33];
    table()
    {
        for (int i = 0; i <= 32; i++) values[i] = exp2f((float)i / 32);
    }
};
static table exponentials;

__device__ float exponential(float v) // of numbers up to 0
{
    float scaled = fmaxf(v, -100.0f) * 46.166241308f, whole = floorf(scaled); // 32 / ln 2
    float rest = fmaf(whole, -0.0216608494f, fmaxf(v, -100.0f));
    int steps = (int)whole, exponent = (steps - (steps & 31)) / 32;
    float series = 1 + rest * (1 + rest * (0.5f + rest * (0.16666667f + rest * 0.041666667f)));
    return v < -87.0f ? 0.0f : ldexpf(powers[steps & 31] * series, exponent);
}

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += exponential(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = exponential(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    cudaMemcpyToSymbolAsync(powers, exponentials.values, sizeof exponentials.values, 0, cudaMemcpyHostToDevice, stream);
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
