/* h = x + residual; y_j = h_j / sqrt(mean(h^2) + epsilon) weight_j (Zhang and Sennrich, "Root mean
 * square layer normalization", 2019) in float64, without a rounding of h. One block a row. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 128

__global__ void rms_norm_exact(const __nv_bfloat16 *x, double *residual,
                               const __nv_bfloat16 *weight, double *y, double epsilon, int64_t cols)
{
    __shared__ double partial[THREADS];
    const int64_t row = blockIdx.x * cols;
    double squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        const double h = (double)__bfloat162float(x[row + j]) + residual[row + j];
        residual[row + j] = h;
        squares += h * h;
    }
    partial[threadIdx.x] = squares;
    __syncthreads();
    squares = 0;
    for (int t = 0; t < THREADS; t++) squares += partial[t];
    const double root = sqrt(squares / (double)cols + epsilon);
    for (int64_t j = threadIdx.x; j < cols; j += THREADS)
        y[row + j] = residual[row + j] / root * (double)__bfloat162float(weight[j]);
}

extern "C" void residual_rms_norm_oracle(const __nv_bfloat16 *x, double *residual,
                                         const __nv_bfloat16 *weight, double *y, float epsilon,
                                         int64_t rows, int64_t cols, cudaStream_t stream)
{
    rms_norm_exact<<<(unsigned)rows, THREADS, 0, stream>>>(x, residual, weight, y, epsilon, cols);
}
