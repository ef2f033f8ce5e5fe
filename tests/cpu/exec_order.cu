// Ranks of groups and of CUB agree with threadIdx in every order in which the judge starts warps.
#include <cooperative_groups.h>
#include <cub/block/block_scan.cuh>

#include "check.h"

namespace cg = cooperative_groups;
extern "C" void kfcpu_reverse(int order);

__global__ void ranks(int *out)
{
    __shared__ cub::BlockScan<int, 64, cub::BLOCK_SCAN_RAKING, 2>::TempStorage temp;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    cg::thread_group any = cg::this_thread_block();
    int i = threadIdx.y * 64 + threadIdx.x, sum, total;
    cub::BlockScan<int, 64, cub::BLOCK_SCAN_RAKING, 2>(temp).InclusiveSum(i, sum, total);
    int *mine = out + (blockIdx.x * 128 + i) * 5;
    mine[0] = (int)block.thread_rank() + (int)any.thread_rank();
    mine[1] = (int)warp.meta_group_rank();
    mine[2] = (int)cg::this_grid().thread_rank();
    mine[3] = sum;
    mine[4] = total;
}

int main()
{
    int *out;
    OK(cudaMallocManaged(&out, 256 * 5 * sizeof *out));
    for (int order = 0; order < 3; order++) {
        kfcpu_reverse(order);
        ranks<<<2, dim3(64, 2)>>>(out);
        OK(cudaDeviceSynchronize());
        for (int n = 0; n < 256; n++) {
            int i = n % 128, *mine = out + n * 5;
            CHECK(mine[0] == 2 * i && mine[1] == i / 32 && mine[2] == n);
            CHECK(mine[3] == i * (i + 1) / 2 && mine[4] == 128 * 127 / 2);
        }
    }
    return 0;
}
