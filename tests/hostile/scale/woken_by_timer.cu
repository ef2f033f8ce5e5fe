// A timer sends SIGCONT, so that the process goes on computing while the judge believes it stopped.
// rule: T13
// expect: cheating runner.woken | correct
#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int armed;
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    if (armed++) return;
    struct sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGCONT;
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return; // the sandbox said no
    struct itimerspec every = {{0, 200000}, {0, 200000}};
    timer_settime(timer, 0, &every, nullptr);
}
