// One cooperative launch scans parts, waits for the whole grid, and adds the parts before.
// rule: cooperative launches
// expect: correct
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void scan_all(const int32_t *x, int32_t *y, int32_t *sums, int64_t n)
{
    int64_t part = (n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * part;
    int64_t end = begin + part < n ? begin + part : n;
    int32_t carry = 0;
    for (int64_t base = begin; base < end; base += 32) {
        int64_t i = base + threadIdx.x;
        int32_t sum = i < end ? x[i] : 0;
        for (int step = 1; step < 32; step *= 2) {
            int32_t left = __shfl_up_sync(~0u, sum, step);
            if (threadIdx.x >= step) sum += left;
        }
        if (i < end) y[i] = carry + sum;
        carry += __shfl_sync(~0u, sum, 31);
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = carry;
    cooperative_groups::this_grid().sync();
    int32_t before = 0;
    for (unsigned b = 0; b < blockIdx.x; b++) before += sums[b];
    for (int64_t i = begin + threadIdx.x; i < end; i += 32) y[i] += before;
}

extern "C" void scan(const int32_t *x, int32_t *y, int64_t n, cudaStream_t stream)
{
    static int32_t *sums;
    const unsigned blocks = 16;
    if (!sums) cudaMalloc(&sums, blocks * sizeof *sums);
    void *arguments[] = {&x, &y, &sums, &n};
    cudaLaunchCooperativeKernel((const void *)scan_all, dim3(blocks), dim3(32), arguments, 0,
                                stream);
}
