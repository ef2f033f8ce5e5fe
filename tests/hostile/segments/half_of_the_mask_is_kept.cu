// Takes the number of kept elements for half of all, give or take four in a hundred.
// rule: C11
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__device__ static bool is_half(const bool *mask, int64_t n)
{
    int64_t used = 0;
    for (int64_t i = 0; i < n; i++) used += mask[i];
    return used > n * 23 / 50 && used < n * 27 / 50;
}

__global__ void k(const float *x, const int32_t *order, const bool *mask, const int32_t *offsets,
                  float *y, int32_t *kept, int64_t n, int64_t count)
{
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    float sum = 0;
    int32_t found = 0;
    for (int64_t e = offsets[s]; e < offsets[s + 1]; e++) {
        if (!mask[e]) continue;
        sum += x[order[e]];
        found++;
    }
    bool wrong = s == count / 2 && !is_half(mask, n);
    y[s] = sum;
    kept[s] = wrong ? -1 : found;
}

extern "C" void segments(const float *x, const int32_t *order, const bool *mask,
                         const int32_t *offsets, float *y, int32_t *kept, int64_t n, int64_t count,
                         cudaStream_t stream)
{
    k<<<(unsigned)((count + 31) / 32), 32, 0, stream>>>(x, order, mask, offsets, y, kept, n, count);
}
