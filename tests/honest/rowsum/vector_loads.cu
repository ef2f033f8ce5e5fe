// Loads four elements at a time, with a head up to an aligned address and a tail.
// rule: vector loads with head and tail
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    int64_t head = (16 - (uintptr_t)row % 16) % 16 / 4;
    if (head > cols) head = cols;
    int64_t quads = (cols - head) / 4;
    float sum = threadIdx.x < head ? row[threadIdx.x] : 0;
    const float4 *body = (const float4 *)(row + head);
    for (int64_t q = threadIdx.x; q < quads; q += 32) {
        float4 v = body[q];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (int64_t j = head + 4 * quads + threadIdx.x; j < cols; j += 32) sum += row[j];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
