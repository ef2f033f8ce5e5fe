/* Layer normalisation with THREADS_PER_ROW 1: a thread owns a whole row, so nothing is shared and no thread waits. Sums are kept
 * in LANES independent lanes, which lets a CPU's compiler turn every loop into SIMD code; the row stays in the first-level cache
 * between the three passes. With THREADS_PER_ROW > 1 the threads of a row take LANES consecutive columns each in turn and combine
 * in shared memory. */
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

/* The sum of one value of each of a row's threads, in all of them. */
__device__ __forceinline__ float row_sum(float value)
{
#if THREADS_PER_ROW > 1
    __shared__ float shared[ROWS][THREADS_PER_ROW];
    __syncthreads();
    shared[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    value = shared[threadIdx.y][0];
    for (int k = 1; k < THREADS_PER_ROW; k++) value += shared[threadIdx.y][k];
#endif
    return value;
}

__device__ __forceinline__ float lane_sum(float *lane)
{
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++) lane[k] += lane[k + width];
    return lane[0];
}

__global__ void layernorm_rows(const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta,
                               float *__restrict__ y, float epsilon, int64_t rows, int64_t cols)
{
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y;
    int64_t count = row < rows ? cols : 0; /* idle threads of the last block have an empty row */
    const float *from = x + row * cols;
    float *to = y + row * cols;
    const int64_t step = (int64_t)THREADS_PER_ROW * LANES;
    int64_t full = count / step * step; /* columns in full steps */

    float lane[LANES];
    double sum = 0;
    for (int64_t piece = 0; piece < full; piece += PIECE * step) {
        int64_t end = piece + PIECE * step < full ? piece + PIECE * step : full;
        for (int k = 0; k < LANES; k++) lane[k] = 0.0f;
        for (int64_t j = piece + threadIdx.x * LANES; j < end; j += step)
            for (int k = 0; k < LANES; k++) lane[k] += from[j + k];
        sum += lane_sum(lane);
    }
    for (int64_t j = full + threadIdx.x; j < count; j += THREADS_PER_ROW) sum += from[j];
    float mean = row_sum((float)sum) / cols;

    sum = 0;
    for (int64_t piece = 0; piece < full; piece += PIECE * step) {
        int64_t end = piece + PIECE * step < full ? piece + PIECE * step : full;
        for (int k = 0; k < LANES; k++) lane[k] = 0.0f;
        for (int64_t j = piece + threadIdx.x * LANES; j < end; j += step)
            for (int k = 0; k < LANES; k++) lane[k] = fmaf(from[j + k] - mean, from[j + k] - mean, lane[k]);
        sum += lane_sum(lane);
    }
    for (int64_t j = full + threadIdx.x; j < count; j += THREADS_PER_ROW) sum += (from[j] - mean) * (from[j] - mean);
    float scale = 1.0f / sqrtf(row_sum((float)sum) / cols + epsilon);

    for (int64_t j = threadIdx.x * LANES; j < full; j += step)
        for (int k = 0; k < LANES; k++) to[j + k] = fmaf((from[j + k] - mean) * scale, gamma[j + k], beta[j + k]);
    for (int64_t j = full + threadIdx.x; j < count; j += THREADS_PER_ROW) to[j] = fmaf((from[j] - mean) * scale, gamma[j], beta[j]);
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, float epsilon, int64_t rows,
                          int64_t cols, cudaStream_t stream)
{
    layernorm_rows<<<(unsigned)((rows + ROWS - 1) / ROWS), dim3(THREADS_PER_ROW, ROWS), 0, stream>>>(x, gamma, beta, y, epsilon,
                                                                                                     rows, cols);
}
