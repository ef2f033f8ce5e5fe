// Cooperative groups: blocks, tiles of static and dynamic size, coalesced threads, partitions, reductions, scans, collective copies.
#include "exec_check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__device__ int tree_sum(cg::thread_group group, int *scratch, int value)
{
    int rank = group.thread_rank();
    for (int i = group.size() / 2; i > 0; i /= 2) {
        scratch[rank] = value;
        group.sync();
        if (rank < i) value += scratch[rank + i];
        group.sync();
    }
    return value;
}
__global__ void blocks(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    __shared__ int scratch[128];
    int sum = tree_sum(block, scratch, block.thread_rank());
    if (block.thread_rank() == 0) out[0] = sum, out[1] = block.size(), out[2] = block.group_index().x, out[3] = block.group_dim().y;
    cg::sync(block);
    cg::thread_group part = cg::tiled_partition(block, 8);
    sum = tree_sum(part, scratch + block.thread_rank() / 8 * 8, 1);
    if (part.thread_rank() == 0) out[4 + block.thread_rank() / 8] = sum * 100 + part.size();
}
template <int N> __global__ void tiles(int *out)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<N>(warp);
    int i = block.thread_rank(), *mine = out + i * 12;
    mine[0] = tile.thread_rank();
    mine[1] = tile.meta_group_rank();
    mine[2] = tile.shfl(i, 1 % N);
    mine[3] = tile.shfl_down(i, 1);
    mine[4] = tile.shfl_up(i, 1);
    mine[5] = tile.shfl_xor(i, 1 % N);
    mine[6] = tile.ballot(i % 2) + (tile.any(i == 3) << 30);
    mine[7] = cg::reduce(tile, i, cg::plus<int>());
    mine[8] = cg::reduce(tile, (i * 7) % 32, cg::greater<int>()) * 100 + cg::reduce(tile, (i * 7) % 32, cg::less<int>());
    mine[9] = cg::inclusive_scan(tile, i + 1);
    mine[10] = cg::exclusive_scan(tile, i + 1, cg::plus<int>());
    mine[11] = warp.meta_group_size() * 1000 + warp.meta_group_rank() + 100 * tile.match_any(i / 2 % 2);
}
struct wide {
    double a, b, c;
};
__global__ void coalesced(int *out)
{
    int i = threadIdx.x;
    if (i % 3 == 1) {
        auto group = cg::coalesced_threads();
        out[i] = group.size() * 100 + group.thread_rank();
        out[i] += 10000 * group.shfl(i, 2) + 1000000 * (cg::reduce(group, 1, cg::plus<int>()) == (int)group.size());
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    wide w = {i + 0.5, i + 0.25, (double)i};
    w = warp.shfl(w, 9);
    auto two = cg::binary_partition(warp, i < 5);
    auto labels = cg::labeled_partition(warp, i % 4);
    out[32 + i] =
        two.size() + 100 * labels.size() + 10000 * labels.meta_group_rank() + 100000 * (w.a == 9.5 && w.b == 9.25 && w.c == 9);
}
__global__ void copies(const int *in, int *out)
{
    __shared__ int buffer[100];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, buffer, in + blockIdx.x * 100, sizeof buffer);
    cg::wait(block);
    for (int i = threadIdx.x; i < 100; i += blockDim.x) out[blockIdx.x * 100 + i] = buffer[99 - i];
}
template <int N> void check_tiles(int *out)
{
    cudaMemset(out, 0, 64 * 12 * 4);
    tiles<N><<<1, 64>>>(out);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) {
        int *mine = out + i * 12, first = i / N * N, at = i % N, sum = 0, before = 0, low = 99, high = -1, odd = 0, same = 0;
        bool three = false;
        for (int k = 0; k < N; k++) {
            int j = first + k, v = j * 7 % 32;
            sum += j, before += k < at ? j + 1 : 0, low = v < low ? v : low, high = v > high ? v : high, odd |= (j % 2) << k,
                                                    three |= j == 3;
            same |= (j / 2 % 2 == i / 2 % 2) << k;
        }
        CHECK(mine[0] == at && mine[1] == i % 32 / N && mine[2] == first + 1 % N);
        CHECK(mine[3] == (at + 1 < N ? i + 1 : i) && mine[4] == (at ? i - 1 : i) && mine[5] == (N > 1 ? i ^ 1 : i));
        CHECK(mine[6] == odd + (three << 30) && mine[7] == sum && mine[8] == high * 100 + low);
        CHECK(mine[9] == before + i + 1 && mine[10] == before && mine[11] == 2000 + i / 32 + 100 * same);
    }
}

int main()
{
    int *out = memory<int>(1000);
    blocks<<<1, dim3(16, 8)>>>(out);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(out[0] == 128 * 127 / 2 && out[1] == 128 && out[2] == 0 && out[3] == 8);
    for (int i = 0; i < 16; i++) CHECK(out[4 + i] == 808);
    check_tiles<2>(out);
    check_tiles<4>(out);
    check_tiles<8>(out);
    check_tiles<16>(out);
    cudaMemset(out, 0, 400);
    coalesced<<<1, 32>>>(out);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) {
        CHECK(out[i] == (i % 3 == 1 ? 1100 + (i - 1) / 3 + 70000 + 1000000 : 0)); // lanes 1, 4, … 28 and 31: 11 of them
        CHECK(out[32 + i] == (i < 5 ? 5 : 27) + 800 + 10000 * (i % 4) + 100000);
    }
    int *in = memory<int>(500);
    for (int i = 0; i < 500; i++) in[i] = i;
    copies<<<5, 32>>>(in, out);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 500; i++) CHECK(out[i] == i / 100 * 100 + 99 - i % 100);
    return result();
}
