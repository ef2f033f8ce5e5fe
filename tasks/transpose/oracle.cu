/* y_ji = x_ij, one thread an element of y; float to double is exact. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void transpose_exact(const float *x, double *y, int64_t rows, int64_t cols)
{
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < rows * cols) y[k] = (double)x[k % rows * cols + k / rows];
}

extern "C" void transpose_oracle(const float *x, double *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    transpose_exact<<<(unsigned)((rows * cols + 255) / 256), 256, 0, stream>>>(x, y, rows, cols);
}
