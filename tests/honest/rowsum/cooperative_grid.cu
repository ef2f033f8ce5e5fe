// A cooperative launch with a barrier over the whole grid between partial and final sums.
// rule: cooperative launches
// expect: correct
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, float *part, int64_t rows, int64_t cols)
{
    for (int64_t p = blockIdx.x; p < 2 * rows; p += gridDim.x) {
        float sum = 0;
        for (int64_t j = p % 2 * 32 + threadIdx.x; j < cols; j += 64) sum += x[p / 2 * cols + j];
        for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
        if (threadIdx.x == 0) part[p] = sum;
    }
    cooperative_groups::this_grid().sync();
    for (int64_t i = blockIdx.x * 32 + threadIdx.x; i < rows; i += gridDim.x * 32) s[i] = part[2 * i] + part[2 * i + 1];
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float *part;
    static int64_t capacity;
    if (rows > capacity) {
        cudaFree(part);
        cudaMalloc(&part, 2 * rows * sizeof *part);
        capacity = rows;
    }
    void *arguments[] = {&x, &s, &part, &rows, &cols};
    cudaLaunchCooperativeKernel((const void *)sum_rows, dim3(8), dim3(32), arguments, 0, stream);
}
