// cpu-test: compile 3
// cpu-test: output ^[^ ]*unsupported_cub.cu:4: unsupported on the CPU device: .*CUB, Thrust
#include <cub/block/block_reduce.cuh>
__global__ void k() { __shared__ cub::BlockReduce<float, 128>::TempStorage storage; }
