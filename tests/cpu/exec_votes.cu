// __ballot_sync, __any_sync, __all_sync, __match_*_sync, __reduce_*_sync, __activemask, __syncwarp.
#include "exec_check.h"

__global__ void ask(unsigned *out)
{
    unsigned lane = threadIdx.x, full = 0xffffffffu;
    unsigned *mine = out + lane * 16;
    int all_same;
    mine[0] = __ballot_sync(full, lane % 3 == 0);
    mine[1] = __any_sync(full, lane == 31) + 2 * __any_sync(full, lane == 32);
    mine[2] = __all_sync(full, lane < 32) + 2 * __all_sync(full, lane < 31);
    mine[3] = __match_any_sync(full, lane / 10);
    mine[4] = __match_any_sync(full, (double)(lane % 2));
    mine[5] = __match_all_sync(full, 7, &all_same) == full && all_same;
    mine[6] = __match_all_sync(full, lane, &all_same) == 0 && !all_same;
    mine[7] = __reduce_add_sync(full, lane);
    mine[8] = __reduce_min_sync(full, (int)lane - 40);
    mine[9] = __reduce_max_sync(full, lane - 5);
    mine[10] = __reduce_and_sync(full, lane | 64);
    mine[11] = __reduce_or_sync(full, 1u << lane);
    mine[12] = __reduce_xor_sync(full, lane);
    if (lane % 4 == 1) mine[13] = __activemask();
    __syncwarp();
    mine[14] = __activemask();
    __shared__ unsigned exchange[32];
    exchange[lane] = lane;
    __syncwarp();
    mine[15] = exchange[31 - lane];
}

int main()
{
    unsigned *out = memory<unsigned>(32 * 16);
    ask<<<1, 32>>>(out);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned *mine = out + lane * 16, tens = 0;
        for (unsigned i = 0; i < 32; i++) tens |= (unsigned)(i / 10 == lane / 10) << i;
        CHECK(mine[0] == 0x49249249u);
        CHECK(mine[1] == 1 && mine[2] == 1);
        CHECK(mine[3] == tens);
        CHECK(mine[4] == (lane % 2 ? 0xaaaaaaaau : 0x55555555u));
        CHECK(mine[5] && mine[6]);
        CHECK(mine[7] == 496);
        CHECK((int)mine[8] == -40);
        CHECK(mine[9] == 0xffffffffu); // lane 4: 4 - 5, unsigned
        CHECK(mine[10] == 64 && mine[11] == 0xffffffffu && mine[12] == 0);
        CHECK(mine[13] == (lane % 4 == 1 ? 0x22222222u : 0));
        CHECK(mine[14] == 0xffffffffu);
        CHECK(mine[15] == 31 - lane);
    }
    return result();
}
