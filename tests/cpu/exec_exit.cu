// Threads that end early in every constellation of warps and barriers; many launches in a row of changing shapes.
#include "exec_check.h"

__global__ void mixed(int *out, int seed)
{
    unsigned t = threadIdx.x, h = (t * 2654435761u) ^ seed;
    int value = 0;
    for (int round = 0; round < 5; round++) {
        if ((h >> round & 7) == 0) return;
        if (__any_sync(__activemask(), 1)) value++;
        __syncthreads();
        value += __syncthreads_count(1) > 0;
    }
    out[blockIdx.x * blockDim.x + t] = value;
}

int main()
{
    int *out = memory<int>(1024 * 8);
    for (int seed = 0; seed < 60; seed++)
        for (int threads : {1, 17, 64, 96, 300, 1024}) {
            cudaMemset(out, 0, 1024 * 8 * 4);
            mixed<<<8, threads>>>(out, seed);
            CHECK_CUDA(cudaDeviceSynchronize());
            for (int i = 0; i < 8 * threads; i++) {
                unsigned h = ((unsigned)(i % threads) * 2654435761u) ^ (unsigned)seed;
                bool stays = true;
                for (int round = 0; round < 5; round++) stays = stays && (h >> round & 7) != 0;
                CHECK(out[i] == (stays ? 10 : 0));
            }
        }
    return result();
}
