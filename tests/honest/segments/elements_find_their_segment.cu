// Each element searches the offsets for its segment, and adds itself with an atomic.
// rule: atomics
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, const int32_t *order, const bool *mask, const int32_t *offsets,
                  float *y, int32_t *kept, int64_t n, int64_t count)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n || !mask[e]) return;
    int64_t low = 0, high = count;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (offsets[middle] <= e)
            low = middle;
        else
            high = middle;
    }
    atomicAdd(&y[low], x[order[e]]);
    atomicAdd(&kept[low], 1);
}

extern "C" void segments(const float *x, const int32_t *order, const bool *mask,
                         const int32_t *offsets, float *y, int32_t *kept, int64_t n, int64_t count,
                         cudaStream_t stream)
{
    cudaMemsetAsync(y, 0, (size_t)count * sizeof *y, stream);
    cudaMemsetAsync(kept, 0, (size_t)count * sizeof *kept, stream);
    k<<<(unsigned)((n + 127) / 128), 128, 0, stream>>>(x, order, mask, offsets, y, kept, n, count);
}
