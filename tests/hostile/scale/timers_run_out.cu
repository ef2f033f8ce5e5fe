// Thousands of timers, set by the first call behind a pause, run out while it is stopped: the kernel's work for them is in the others' time.
// rule: T14
// expect: correct | interference baseline.disturbed
// at-most: 1.3
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

#define MOST 4000
static int timers[MOST], count;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
    while (count < MOST && (timers[count] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)) >= 0) count++;
}

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int64_t last;
    static int calls;
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    cudaStreamSynchronize(stream);
    int64_t t = now();
    calls = t - last > 1000000 ? 1 : calls + 1;
    if (calls == 1)
        for (int i = 0; i < count; i++) {
            int64_t at = t + 1000000 + i * 5000ll;
            struct itimerspec s = {{0, 0}, {at / 1000000000, at % 1000000000}};
            timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &s, 0);
        }
    last = now();
}
