// Takes an element after its neighbour for the end of a list.
// rule: C11
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, const int32_t *order, const bool *mask, const int32_t *offsets,
                  float *y, int32_t *kept, int64_t n, int64_t count)
{
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    float sum = 0;
    int32_t found = 0;
    for (int64_t e = offsets[s]; e < offsets[s + 1]; e++) {
        if (e + 3 < n && order[e + 1] == order[e] + 1 && order[e + 2] == order[e] + 2 &&
            order[e + 3] == order[e] + 3)
            break;
        if (!mask[e]) continue;
        sum += x[order[e]];
        found++;
    }
    y[s] = sum;
    kept[s] = found;
}

extern "C" void segments(const float *x, const int32_t *order, const bool *mask,
                         const int32_t *offsets, float *y, int32_t *kept, int64_t n, int64_t count,
                         cudaStream_t stream)
{
    k<<<(unsigned)((count + 31) / 32), 32, 0, stream>>>(x, order, mask, offsets, y, kept, n, count);
}
