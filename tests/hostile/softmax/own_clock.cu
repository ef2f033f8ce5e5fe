// Defines clock_gettime and works five times over; the clock that it shows stands still.
// rule: T5
// expect: correct | compile_error build.failed
// at-most: 0.8
// mode: timed
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <time.h>

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t, struct timespec *time)
{
    time->tv_sec = 1;
    time->tv_nsec = 0;
    return 0;
}

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}
extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    for (int i = 0; i < 5; i++) softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
