/* Residual and RMS normalisation with a thread a row and no barrier: the squares are added up in
 * LANES independent sums, which a CPU's compiler turns into SIMD code. Reads are not coalesced on a
 * GPU. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune LANES 1 4 8 16 32
// kforge: tune THREADS 1 2 4 32
#ifndef LANES
#define LANES 16
#endif
#ifndef THREADS
#define THREADS 1
#endif

__global__ void rms_norm_kernel(const __nv_bfloat16 *__restrict__ x,
                                __nv_bfloat16 *__restrict__ residual,
                                const __nv_bfloat16 *__restrict__ weight,
                                __nv_bfloat16 *__restrict__ y, float epsilon, int64_t rows,
                                int64_t cols)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    const __nv_bfloat16 *from = x + row * cols;
    __nv_bfloat16 *sum = residual + row * cols, *to = y + row * cols;
    float part[LANES], squares = 0.0f;
    for (int l = 0; l < LANES; l++) part[l] = 0.0f;
    int64_t j = 0;
    for (; j + LANES <= cols; j += LANES)
        for (int l = 0; l < LANES; l++) {
            const float h = __bfloat162float(from[j + l]) + __bfloat162float(sum[j + l]);
            sum[j + l] = __float2bfloat16(h);
            part[l] = fmaf(h, h, part[l]);
        }
    for (; j < cols; j++) {
        const float h = __bfloat162float(from[j]) + __bfloat162float(sum[j]);
        sum[j] = __float2bfloat16(h);
        squares = fmaf(h, h, squares);
    }
    for (int l = 0; l < LANES; l++) squares += part[l];
    const float scale = 1.0f / sqrtf(squares / (float)cols + epsilon);
    for (j = 0; j < cols; j++)
        to[j] = __float2bfloat16(__bfloat162float(sum[j]) * scale * __bfloat162float(weight[j]));
}

extern "C" void residual_rms_norm(const __nv_bfloat16 *x, __nv_bfloat16 *residual,
                                  const __nv_bfloat16 *weight, __nv_bfloat16 *y, float epsilon,
                                  int64_t rows, int64_t cols, cudaStream_t stream)
{
    rms_norm_kernel<<<(unsigned)((rows + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        x, residual, weight, y, epsilon, rows, cols);
}
