// The sums of warps go where a slower warp still reads the maximum: a barrier is missing.
// rule: C14
// expect: wrong_result output.mismatch
// devices: cpu
// says: Put __syncthreads() between
// suspects: nothing
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void softmax_row(const float *x, float *y, int64_t cols)
{
    __shared__ float slots[8];
    auto block = cooperative_groups::this_thread_block();
    auto tile = cooperative_groups::tiled_partition<32>(block);
    unsigned lane = tile.thread_rank(), warp = tile.meta_group_rank();
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = block.thread_rank(); j < cols; j += block.size()) most = fmaxf(most, row[j]);
    for (int n = 16; n > 0; n /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, n));
    if (lane == 0) slots[warp] = most;
    block.sync();
    for (int i = 0; i < 8; i++) most = fmaxf(most, slots[i]);
    for (int64_t j = block.thread_rank(); j < cols; j += block.size()) sum += expf(row[j] - most);
    for (int n = 16; n > 0; n /= 2) sum += __shfl_xor_sync(~0u, sum, n);
    if (lane == 0) slots[warp] = sum;
    block.sync();
    sum = 0;
    for (int i = 0; i < 8; i++) sum += slots[i];
    for (int64_t j = block.thread_rank(); j < cols; j += block.size())
        y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_row<<<(unsigned)rows, 256, 0, stream>>>(x, y, cols);
}
