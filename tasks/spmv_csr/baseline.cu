/* Sparse matrix times vector, one thread a row ("scalar CSR": Bell and Garland, "Efficient sparse matrix-vector multiplication on
 * CUDA", 2008). Cost: 8 bytes an entry and one gather from x; neighbouring threads read entries a row's length apart, so the reads
 * of values and columns are not coalesced, and a warp takes as long as its longest row. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void spmv_kernel(const int32_t *row_offsets, const int32_t *columns, const float *values, const float *x, float *y,
                            int64_t rows)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int32_t e = row_offsets[row]; e < row_offsets[row + 1]; e++) sum += values[e] * x[columns[e]];
    y[row] = sum;
}

extern "C" void spmv_csr(const int32_t *row_offsets, const int32_t *columns, const float *values, const float *x, float *y,
                         int64_t rows, int64_t cols, cudaStream_t stream)
{
    (void)cols;
    spmv_kernel<<<(unsigned)((rows + 127) / 128), 128, 0, stream>>>(row_offsets, columns, values, x, y, rows);
}
