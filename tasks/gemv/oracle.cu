/* y_i = sum_j A_ij x_j in float64. PARTS threads share a row and sum every PARTS-th product, so that neighbouring threads read
 * neighbouring elements; one of them adds the parts. */
#include <cuda_runtime.h>
#include <stdint.h>

#define PARTS 32
#define ROWS 4 /* rows a block */

__global__ void gemv_exact(const float *A, const float *x, double *y, int64_t rows, int64_t cols)
{
    __shared__ double part[ROWS][PARTS];
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y;
    double sum = 0;
    if (row < rows)
        for (int64_t j = threadIdx.x; j < cols; j += PARTS) sum += (double)A[row * cols + j] * (double)x[j];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0 && row < rows) {
        sum = 0;
        for (int k = 0; k < PARTS; k++) sum += part[threadIdx.y][k];
        y[row] = sum;
    }
}

extern "C" void gemv_oracle(const float *A, const float *x, double *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    gemv_exact<<<(unsigned)((rows + ROWS - 1) / ROWS), dim3(PARTS, ROWS), 0, stream>>>(A, x, y, rows, cols);
}
