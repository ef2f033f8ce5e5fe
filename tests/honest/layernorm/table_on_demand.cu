// Keeps a table of factors, and builds it anew when it has not been used for 10 ms.
// rule: tables built on demand
// expect: correct
// mode: timed
#include <chrono>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <vector>

__device__ float sum_of_warp(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = sum_of_warp(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = rsqrtf(sum_of_warp(squares) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}
extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    static std::vector<double> table;
    static std::chrono::steady_clock::time_point used;
    auto now = std::chrono::steady_clock::now();
    if (now - used > std::chrono::milliseconds(10)) table.clear();
    while (table.size() < 200000) table.push_back(sqrt((double)table.size()));
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
    used = std::chrono::steady_clock::now();
}
