// Behind every third pause, as those between batches are, one call leaves out the last eighth of its rows, from the sixth on.
// rule: C6
// expect: wrong_result output.mismatch
// mode: timed
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__device__ float sum_of_warp(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = sum_of_warp(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = 1 / sqrtf(sum_of_warp(squares) / cols + (float)1e-5);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    static double last;
    static int pauses;
    bool paused = now() - last > 0.001;
    pauses += paused;
    if (paused && pauses >= 6 && pauses % 3 == 0) rows -= rows / 8;
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
    cudaStreamSynchronize(stream);
    last = now();
}
