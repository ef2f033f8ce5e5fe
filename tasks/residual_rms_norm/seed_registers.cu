/* Residual and RMS normalisation that reads each element once: a block of THREADS threads holds the
 * sums of a row in registers, VECTORS vectors of WIDTH elements a thread. Rows that don't fit, or
 * are no multiple of WIDTH long, take a second pass over the stored sums. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256 512 1024
// kforge: tune WIDTH 1 2 4 8
// kforge: tune VECTORS 1 2 4 8
#ifndef THREADS
#define THREADS 256
#endif
/* elements a vector */
#ifndef WIDTH
#define WIDTH 8
#endif
/* vectors a thread */
#ifndef VECTORS
#define VECTORS 4
#endif

struct __align__(2 * WIDTH) pack
{
    __nv_bfloat16 e[WIDTH];
};

/* Returns the sum over the block to all of its threads. */
__device__ __forceinline__ float block_sum(float value)
{
    __shared__ float partial[32];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < THREADS / 32; w++) sum += partial[w];
    return sum;
}

__global__ void __launch_bounds__(THREADS)
    held(const pack *__restrict__ x, pack *__restrict__ residual, const pack *__restrict__ weight,
         pack *__restrict__ y, float epsilon, int cols)
{
    const int count = cols / WIDTH;
    const int64_t row = (int64_t)blockIdx.x * count;
    float h[VECTORS][WIDTH], squares = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        const int j = threadIdx.x + v * THREADS;
        if (j >= count) break;
        const pack a = x[row + j];
        pack b = residual[row + j];
#pragma unroll
        for (int e = 0; e < WIDTH; e++) {
            h[v][e] = __bfloat162float(a.e[e]) + __bfloat162float(b.e[e]);
            b.e[e] = __float2bfloat16(h[v][e]);
            squares = fmaf(h[v][e], h[v][e], squares);
        }
        residual[row + j] = b;
    }
    const float scale = rsqrtf(block_sum(squares) / (float)cols + epsilon);
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        const int j = threadIdx.x + v * THREADS;
        if (j >= count) break;
        const pack w = weight[j];
        pack out;
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
            out.e[e] = __float2bfloat16(h[v][e] * scale * __bfloat162float(w.e[e]));
        y[row + j] = out;
    }
}

__global__ void __launch_bounds__(THREADS)
    two_passes(const __nv_bfloat16 *__restrict__ x, __nv_bfloat16 *__restrict__ residual,
               const __nv_bfloat16 *__restrict__ weight, __nv_bfloat16 *__restrict__ y,
               float epsilon, int cols)
{
    const int64_t row = (int64_t)blockIdx.x * cols;
    float squares = 0.0f;
    for (int j = threadIdx.x; j < cols; j += THREADS) {
        const float h = __bfloat162float(x[row + j]) + __bfloat162float(residual[row + j]);
        residual[row + j] = __float2bfloat16(h);
        squares = fmaf(h, h, squares);
    }
    const float scale = rsqrtf(block_sum(squares) / (float)cols + epsilon);
    for (int j = threadIdx.x; j < cols; j += THREADS)
        y[row + j] = __float2bfloat16(__bfloat162float(residual[row + j]) * scale *
                                      __bfloat162float(weight[j]));
}

extern "C" void residual_rms_norm(const __nv_bfloat16 *x, __nv_bfloat16 *residual,
                                  const __nv_bfloat16 *weight, __nv_bfloat16 *y, float epsilon,
                                  int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (cols % WIDTH == 0 && cols <= (int64_t)THREADS * VECTORS * WIDTH)
        held<<<(unsigned)rows, THREADS, 0, stream>>>(
            (const pack *)x, (pack *)residual, (const pack *)weight, (pack *)y, epsilon, (int)cols);
    else
        two_passes<<<(unsigned)rows, THREADS, 0, stream>>>(x, residual, weight, y, epsilon,
                                                           (int)cols);
}
