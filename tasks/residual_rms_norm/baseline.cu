/* Residual and RMS normalisation, one block a row in two passes: the sum, which is stored in the
 * residual and squared, then the quotient, from the stored sum. Cost: the sum is read again (mostly
 * from cache), and loads and stores have 2 bytes. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 256

__global__ void rms_norm_kernel(const __nv_bfloat16 *x, __nv_bfloat16 *residual,
                                const __nv_bfloat16 *weight, __nv_bfloat16 *y, float epsilon,
                                int64_t cols)
{
    __shared__ float partial[THREADS];
    const int64_t row = blockIdx.x * cols;
    float squares = 0.0f;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        const float h = __bfloat162float(x[row + j]) + __bfloat162float(residual[row + j]);
        residual[row + j] = __float2bfloat16(h);
        squares += h * h;
    }
    partial[threadIdx.x] = squares;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = 1.0f / sqrtf(partial[0] / (float)cols + epsilon);
    for (int64_t j = threadIdx.x; j < cols; j += THREADS)
        y[row + j] = __float2bfloat16(__bfloat162float(residual[row + j]) * scale *
                                      __bfloat162float(weight[j]));
}

extern "C" void residual_rms_norm(const __nv_bfloat16 *x, __nv_bfloat16 *residual,
                                  const __nv_bfloat16 *weight, __nv_bfloat16 *y, float epsilon,
                                  int64_t rows, int64_t cols, cudaStream_t stream)
{
    rms_norm_kernel<<<(unsigned)rows, THREADS, 0, stream>>>(x, residual, weight, y, epsilon, cols);
}
