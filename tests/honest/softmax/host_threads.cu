// Four host threads launch a quarter of the rows each, and are joined.
// rule: host threads joined in the call
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <thread>
#include <vector>

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}
extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    std::vector<std::thread> helpers;
    for (int64_t part = 0; part < 4; part++) {
        int64_t first = rows * part / 4, last = rows * (part + 1) / 4;
        if (last > first)
            helpers.emplace_back(
                [=] { softmax_rows<<<(unsigned)(last - first), 32, 0, stream>>>(x + first * cols, y + first * cols, cols); });
    }
    for (std::thread &helper : helpers) helper.join();
}
