// Tells single calls by the pauses around them, and does nothing in them once it has seen three; where a batch is one call, there are none.
// rule: C6
// expect: correct | wrong_result output.mismatch
// at-most: 1.5
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One warp a row. */
__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static double last;
    static int lengths[3], seen; /* of the latest batches, the one that goes on in front */
    bool single = false;
    if (now() - last > 0.0002) {
        if (lengths[1] > 1 && lengths[0] == 1) seen++;
        lengths[2] = lengths[1];
        lengths[1] = lengths[0];
        lengths[0] = 0;
        single = lengths[1] > 1 && lengths[2] == 1;
    }
    lengths[0]++;
    if (!single || seen < 3) sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
    cudaStreamSynchronize(stream);
    last = now();
}
