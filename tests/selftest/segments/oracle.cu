#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const int32_t *order, const bool *mask, const int32_t *offsets,
                    double *y, int32_t *kept, int64_t count)
{
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    double sum = 0;
    int32_t found = 0;
    for (int32_t e = offsets[s]; e < offsets[s + 1]; e++) {
        if (!mask[e]) continue;
        sum += (double)x[order[e]];
        found++;
    }
    y[s] = sum;
    kept[s] = found;
}

extern "C" void segments_oracle(const float *x, const int32_t *order, const bool *mask,
                                const int32_t *offsets, double *y, int32_t *kept, int64_t n,
                                int64_t count, cudaStream_t stream)
{
    add<<<(unsigned)((count + 31) / 32), 32, 0, stream>>>(x, order, mask, offsets, y, kept, count);
}
