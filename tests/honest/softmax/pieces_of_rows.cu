// Finds maximum and sum of pieces of a row, and merges them as attention kernels do.
// rule: online softmax over pieces
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define PIECES 4
__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__device__ float warp_max(float value)
{
    for (int other = 16; other > 0; other /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, other));
    return value;
}

__global__ void pieces(const float *x, float2 *states, int64_t cols)
{
    int64_t first = cols * blockIdx.y / PIECES, last = cols * (blockIdx.y + 1) / PIECES;
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = first + threadIdx.x; j < last; j += 32) most = fmaxf(most, row[j]);
    most = warp_max(most);
    for (int64_t j = first + threadIdx.x; j < last; j += 32) sum += expf(row[j] - most);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) states[blockIdx.x * PIECES + blockIdx.y] = make_float2(most, sum);
}

__global__ void finish(const float *x, const float2 *states, float *y, int64_t cols)
{
    float most = -INFINITY, sum = 0;
    for (int p = 0; p < PIECES; p++) {
        float2 state = states[blockIdx.x * PIECES + p];
        float next = fmaxf(most, state.x);
        sum = sum * expf(most - next) + state.y * expf(state.x - next);
        most = next;
    }
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = expf(x[blockIdx.x * cols + j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float2 *states;
    static int64_t capacity;
    if (rows > capacity) {
        cudaFree(states);
        cudaMalloc(&states, rows * PIECES * sizeof *states);
        capacity = rows;
    }
    pieces<<<dim3((unsigned)rows, PIECES), 32, 0, stream>>>(x, states, cols);
    finish<<<(unsigned)rows, 32, 0, stream>>>(x, states, y, cols);
}
