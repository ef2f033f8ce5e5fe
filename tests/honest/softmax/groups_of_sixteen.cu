// Cooperative groups of sixteen threads work on a row each and reduce by the library.
// rule: cooperative groups
// expect: correct
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

namespace cg = cooperative_groups;

__global__ void softmax_rows(const float *x, float *y, int64_t rows, int64_t cols)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int64_t i = (int64_t)blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (i >= rows) return;
    const float *row = x + i * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = tile.thread_rank(); j < cols; j += 16) most = fmaxf(most, row[j]);
    most = cg::reduce(tile, most, cg::greater<float>());
    for (int64_t j = tile.thread_rank(); j < cols; j += 16) sum += expf(row[j] - most);
    sum = cg::reduce(tile, sum, cg::plus<float>());
    for (int64_t j = tile.thread_rank(); j < cols; j += 16)
        y[i * cols + j] = expf(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)((rows + 7) / 8), 128, 0, stream>>>(x, y, rows, cols);
}
