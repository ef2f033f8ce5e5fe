// Copies the rows to pitched memory, so that each starts at an aligned address.
// rule: two-dimensional copies
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void sum_rows(const char *x, float *s, size_t pitch, int64_t cols)
{
    const float *row = (const float *)(x + blockIdx.x * pitch);
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static char *padded;
    static size_t pitch;
    static int64_t most_rows, most_cols;
    if (rows > most_rows || cols > most_cols) {
        if (rows > most_rows) most_rows = rows;
        if (cols > most_cols) most_cols = cols;
        cudaFree(padded);
        cudaMallocPitch((void **)&padded, &pitch, most_cols * sizeof(float), most_rows);
    }
    cudaMemcpy2DAsync(padded, pitch, x, cols * 4, cols * 4, rows, cudaMemcpyDeviceToDevice, stream);
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(padded, s, pitch, cols);
}
