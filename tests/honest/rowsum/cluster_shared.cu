// A cluster of four blocks shares a row, and reads its sums from distributed shared memory.
// rule: clusters with distributed shared memory
// expect: correct
// devices: cuda
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace cg = cooperative_groups;
#define BLOCKS 4
__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void __cluster_dims__(BLOCKS, 1, 1) sum_rows(const float *x, float *s, int64_t cols)
{
    __shared__ float part;
    cg::cluster_group cluster = cg::this_cluster();
    int64_t row = blockIdx.x / BLOCKS;
    float sum = 0;
    for (int64_t j = cluster.block_rank() * 32 + threadIdx.x; j < cols; j += BLOCKS * 32)
        sum += x[row * cols + j];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) part = sum;
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float all = 0;
        for (unsigned b = 0; b < BLOCKS; b++) all += *cluster.map_shared_rank(&part, b);
        s[row] = all;
    }
    cluster.sync();
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows * BLOCKS, 32, 0, stream>>>(x, s, cols);
}
