// cpu-test: compile 3
// cpu-test: output ^[^ ]*unsupported_cub.cu:6: unsupported on the CPU device: .*CUB, Thrust
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_shuffle.cuh>
typedef cub::BlockReduce<float, 128> Reduce;
__global__ void k() { __shared__ cub::BlockShuffle<float, 128>::TempStorage storage; }
