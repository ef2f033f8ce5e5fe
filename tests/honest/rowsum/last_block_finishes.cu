// The last of a row's blocks adds up their parts. Its ticket counter wraps to 0 by itself.
// rule: threadfence reductions
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define PARTS 4
__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void sum_rows(const float *x, float *s, float *part, unsigned *tickets, int64_t cols)
{
    float sum = 0;
    for (int64_t j = blockIdx.y * 32 + threadIdx.x; j < cols; j += PARTS * 32)
        sum += x[blockIdx.x * cols + j];
    sum = warp_sum(sum);
    if (threadIdx.x != 0) return;
    atomicExch(&part[blockIdx.x * PARTS + blockIdx.y], sum);
    __threadfence();
    if (atomicInc(&tickets[blockIdx.x], PARTS - 1) != PARTS - 1) return;
    __threadfence();
    float all = 0;
    for (int p = 0; p < PARTS; p++) all += *(volatile float *)&part[blockIdx.x * PARTS + p];
    s[blockIdx.x] = all;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float *part;
    static unsigned *tickets;
    static int64_t capacity;
    if (rows > capacity) {
        cudaFree(part);
        cudaFree(tickets);
        cudaMalloc(&part, rows * PARTS * sizeof *part);
        cudaMalloc(&tickets, rows * sizeof *tickets);
        cudaMemsetAsync(tickets, 0, rows * sizeof *tickets, stream);
        capacity = rows;
    }
    sum_rows<<<dim3((unsigned)rows, PARTS), 32, 0, stream>>>(x, s, part, tickets, cols);
}
