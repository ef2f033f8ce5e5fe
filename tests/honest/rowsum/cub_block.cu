// CUB's loads and reductions within a block.
// rule: CUB in a block
// expect: correct
// devices: cuda
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    using load = cub::BlockLoad<float, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using reduce = cub::BlockReduce<float, 128>;
    __shared__ union {
        typename load::TempStorage load;
        typename reduce::TempStorage reduce;
    } shared;
    float sum = 0, values[4];
    for (int64_t j = 0; j < cols; j += 512) {
        int valid = (int)(cols - j < 512 ? cols - j : 512);
        load(shared.load).Load(x + blockIdx.x * cols + j, values, valid, 0.0f);
        sum += (values[0] + values[1]) + (values[2] + values[3]);
        __syncthreads();
    }
    sum = reduce(shared.reduce).Sum(sum);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 128, 0, stream>>>(x, s, cols);
}
