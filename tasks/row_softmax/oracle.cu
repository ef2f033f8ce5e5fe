/* softmax(x)_j = exp(x_j - max x) / sum_k exp(x_k - max x) in float64. PARTS threads share a row: each takes every PARTS-th
 * element for the maximum, the sum and the quotients; the maxima and sums of the parts meet in shared memory. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define PARTS 32

__global__ void row_softmax_exact(const float *x, double *y, int64_t rows, int64_t cols)
{
    __shared__ double part[PARTS];
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *from = x + row * cols;
        double largest = -INFINITY, sum = 0;
        for (int64_t j = threadIdx.x; j < cols; j += PARTS) largest = fmax(largest, (double)from[j]);
        part[threadIdx.x] = largest;
        __syncthreads();
        for (int k = 0; k < PARTS; k++) largest = fmax(largest, part[k]);
        __syncthreads();
        for (int64_t j = threadIdx.x; j < cols; j += PARTS) {
            y[row * cols + j] = exp((double)from[j] - largest);
            sum += y[row * cols + j];
        }
        part[threadIdx.x] = sum;
        __syncthreads();
        sum = 0;
        for (int k = 0; k < PARTS; k++) sum += part[k];
        for (int64_t j = threadIdx.x; j < cols; j += PARTS) y[row * cols + j] /= sum;
        __syncthreads();
    }
}

extern "C" void row_softmax_oracle(const float *x, double *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    row_softmax_exact<<<(unsigned)(rows < 65536 ? rows : 65536), PARTS, 0, stream>>>(x, y, rows, cols);
}
