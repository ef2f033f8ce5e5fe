// cpu-test: compile 3
// cpu-test: output ^[^ ]*unsupported_cub.cu:3: unsupported on the CPU device: .*CUB, Thrust
#include <cub/block/block_reduce.cuh>
__global__ void k() {}
