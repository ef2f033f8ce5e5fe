// A SIGCONT handler calibrates the program's clock after the process was stopped.
// rule: handlers that run after a suspension
// expect: correct
#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

static volatile long pauses, offset;

static long nanoseconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void calibrate(int)
{
    long best = 1L << 62;
    for (int i = 0; i < 1000; i++) {
        long before = nanoseconds(CLOCK_MONOTONIC), real = nanoseconds(CLOCK_REALTIME);
        long took = nanoseconds(CLOCK_MONOTONIC) - before;
        if (took < best) best = took, offset = real - before;
    }
    pauses = pauses + 1;
}
__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static bool installed;
    if (!installed) {
        struct sigaction action = {};
        action.sa_handler = calibrate;
        action.sa_flags = SA_RESTART;
        sigaction(SIGCONT, &action, nullptr);
        calibrate(0);
        installed = true;
    }
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
