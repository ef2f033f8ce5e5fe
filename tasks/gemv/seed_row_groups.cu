/* y = A x with a tunable number of threads a row. The threads of a row read it in 16-byte vectors, UNROLL of them in flight each,
 * and add up with warp shuffles, plus one round through shared memory when a row has several warps. Short rows take few threads,
 * so that several share a block. Rows that are not a multiple of 4 long are read float by float. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS_PER_ROW 16 32 64 128 256 512
// kforge: tune THREADS 32 64 128 256 512
// kforge: tune UNROLL 1 2 4 8
// kforge: require THREADS >= THREADS_PER_ROW
#ifndef THREADS_PER_ROW
#define THREADS_PER_ROW 128
#endif
#ifndef THREADS
#define THREADS 128
#endif
#ifndef UNROLL
#define UNROLL 4
#endif
#define ROWS (THREADS / THREADS_PER_ROW) /* rows a block */

/* The sum over the THREADS_PER_ROW threads of a row, valid in the first of them. Called once. */
__device__ __forceinline__ float row_sum(float value)
{
#pragma unroll
    for (int offset = (THREADS_PER_ROW < 32 ? THREADS_PER_ROW : 32) / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
#if THREADS_PER_ROW > 32
    __shared__ float warps[THREADS / 32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    if (threadIdx.x % THREADS_PER_ROW == 0)
        for (int k = 0; k < THREADS_PER_ROW / 32; k++) value += warps[threadIdx.x / 32 + k];
#endif
    return value;
}

__device__ __forceinline__ float dot4(float4 a, float4 b, float sum)
{
    return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
}

template <bool VECTORS>
__global__ void __launch_bounds__(THREADS)
    gemv_kernel(const float *__restrict__ A, const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
{
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x / THREADS_PER_ROW;
    int lane = threadIdx.x % THREADS_PER_ROW;
    float sum = 0.0f;
    if (row < rows && VECTORS) {
        const float4 *a = (const float4 *)(A + row * cols);
        const float4 *b = (const float4 *)x;
        int count = (int)(cols / 4), j = lane;
        float part[UNROLL] = {};
        for (; j + (UNROLL - 1) * THREADS_PER_ROW < count; j += UNROLL * THREADS_PER_ROW) {
            float4 v[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) v[k] = a[j + k * THREADS_PER_ROW];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) part[k] = dot4(v[k], b[j + k * THREADS_PER_ROW], part[k]);
        }
        for (; j < count; j += THREADS_PER_ROW) part[0] = dot4(a[j], b[j], part[0]);
#pragma unroll
        for (int k = 0; k < UNROLL; k++) sum += part[k];
    } else if (row < rows) {
        for (int64_t j = lane; j < cols; j += THREADS_PER_ROW) sum = fmaf(A[row * cols + j], x[j], sum);
    }
    sum = row_sum(sum);
    if (lane == 0 && row < rows) y[row] = sum;
}

extern "C" void gemv(const float *A, const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    unsigned blocks = (unsigned)((rows + ROWS - 1) / ROWS);
    if (cols % 4 == 0)
        gemv_kernel<true><<<blocks, THREADS, 0, stream>>>(A, x, y, rows, cols);
    else
        gemv_kernel<false><<<blocks, THREADS, 0, stream>>>(A, x, y, rows, cols);
}
