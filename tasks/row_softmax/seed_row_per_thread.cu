/* Softmax with THREADS_PER_ROW 1: a thread owns a whole row, so nothing is shared and no thread waits. Maximum and sum are kept in
 * LANES independent lanes and the exponential is a branch-free polynomial, which lets a CPU's compiler turn every loop into SIMD
 * code; the exponentials are stored once and scaled in place while they are in cache. With THREADS_PER_ROW > 1 the threads of a
 * row take COLUMNS consecutive columns each in turn and combine in shared memory, which suits few wide rows and GPUs. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune THREADS_PER_ROW 1 2 4 32 128
// kforge: tune ROWS 1 2 4 8 16 64
// kforge: tune LANES 16 32 64
// kforge: require THREADS_PER_ROW * ROWS <= 256
#ifndef THREADS_PER_ROW
#define THREADS_PER_ROW 1
#endif
/* rows a block */
#ifndef ROWS
#define ROWS 2
#endif
/* consecutive columns that a thread takes at a time */
#ifndef LANES
#define LANES 32
#endif

/* Additions that a lane makes in float before it is added to the total, in double: long rows must not cost accuracy. */
#define PIECE 32

/* e^x for x <= 0: 2^n 2^f with n = round(x log2 e) and |f| <= 1/2; the polynomial is a minimax fit of 2^f, relative error 2e-9.
 * Below -87 the result stays at about 1e-38. */
__device__ __forceinline__ float exponential(float x)
{
    x = x < -87.0f ? -87.0f : x;
    float whole = rintf(x * 1.44269502f);
    float f = fmaf(x, 1.44269502f, -whole);
    f = fmaf(x, 1.92596303e-8f, f); /* log2 e = 1.44269502 + 1.92596303e-8 */
    float p = 1.53458081e-4f;
    p = fmaf(p, f, 1.33999309e-3f);
    p = fmaf(p, f, 9.61848907e-3f);
    p = fmaf(p, f, 5.55032864e-2f);
    p = fmaf(p, f, 2.40226462e-1f);
    p = fmaf(p, f, 6.93147182e-1f);
    p = fmaf(p, f, 1.0f);
    return p * __int_as_float(((int)whole + 127) << 23);
}

/* Combines one value of each of a row's threads. */
template <bool MAXIMUM> __device__ __forceinline__ float row_reduce(float value)
{
#if THREADS_PER_ROW > 1
    __shared__ float shared[ROWS][THREADS_PER_ROW];
    __syncthreads();
    shared[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    value = shared[threadIdx.y][0];
    for (int k = 1; k < THREADS_PER_ROW; k++)
        value = MAXIMUM ? fmaxf(value, shared[threadIdx.y][k]) : value + shared[threadIdx.y][k];
#endif
    return value;
}

__device__ __forceinline__ float lane_sum(float *lane)
{
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++) lane[k] += lane[k + width];
    return lane[0];
}

__global__ void softmax_rows(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
{
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y;
    int64_t count = row < rows ? cols : 0; /* idle threads of the last block have an empty row */
    const float *from = x + row * cols;
    float *to = y + row * cols;
    const int64_t step = (int64_t)THREADS_PER_ROW * LANES;
    int64_t full = count / step * step; /* columns in full steps */

    float lane[LANES];
    for (int k = 0; k < LANES; k++) lane[k] = -INFINITY;
    for (int64_t j = threadIdx.x * LANES; j < full; j += step)
        for (int k = 0; k < LANES; k++) lane[k] = from[j + k] > lane[k] ? from[j + k] : lane[k];
    float largest = -INFINITY;
    for (int64_t j = full + threadIdx.x; j < count; j += THREADS_PER_ROW) largest = fmaxf(largest, from[j]);
    for (int k = 0; k < LANES; k++) largest = fmaxf(largest, lane[k]);
    largest = row_reduce<true>(largest);

    double sum = 0;
    for (int64_t piece = 0; piece < full; piece += PIECE * step) {
        int64_t end = piece + PIECE * step < full ? piece + PIECE * step : full;
        for (int k = 0; k < LANES; k++) lane[k] = 0.0f;
        for (int64_t j = piece + threadIdx.x * LANES; j < end; j += step)
            for (int k = 0; k < LANES; k++) {
                float e = exponential(from[j + k] - largest);
                to[j + k] = e;
                lane[k] += e;
            }
        sum += lane_sum(lane);
    }
    for (int64_t j = full + threadIdx.x; j < count; j += THREADS_PER_ROW) {
        to[j] = exponential(from[j] - largest);
        sum += to[j];
    }
    float scale = 1.0f / row_reduce<false>((float)sum);

    for (int64_t j = threadIdx.x * LANES; j < full; j += step)
        for (int k = 0; k < LANES; k++) to[j + k] *= scale;
    for (int64_t j = full + threadIdx.x; j < count; j += THREADS_PER_ROW) to[j] *= scale;
}

extern "C" void row_softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)((rows + ROWS - 1) / ROWS), dim3(THREADS_PER_ROW, ROWS), 0, stream>>>(x, y, rows, cols);
}
