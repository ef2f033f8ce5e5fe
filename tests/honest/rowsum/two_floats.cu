// Keeps each sum in two floats with Knuth's error-free addition, also between lanes.
// rule: more precise than asked
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

struct two {
    float high, low;
};

__device__ two plus(two a, two b)
{
    float sum = a.high + b.high, part = sum - a.high;
    float lost = (a.high - (sum - part)) + (b.high - part);
    return {sum, a.low + b.low + lost};
}

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    two sum = {0, 0};
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum = plus(sum, {x[blockIdx.x * cols + j], 0});
    for (int other = 16; other > 0; other /= 2)
        sum = plus(sum,
                   {__shfl_xor_sync(~0u, sum.high, other), __shfl_xor_sync(~0u, sum.low, other)});
    if (threadIdx.x == 0) s[blockIdx.x] = sum.high + sum.low;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
