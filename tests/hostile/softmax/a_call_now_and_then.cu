// Behind every third pause between batches it does nothing in one call, from the sixth on.
// rule: C6
// expect: wrong_result output.mismatch
// expect-cuda: wrong_result output.mismatch | wrong_result stream.unordered
// suspects-cpu: state.skips_work
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

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static double last;
    static int pauses;
    bool paused = now() - last > 0.001;
    pauses += paused;
    if (!paused || pauses < 6 || pauses % 3) softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
    cudaStreamSynchronize(stream);
    last = now();
}
