// Calibrates a clock for two milliseconds whenever it is woken. The judge charges that time.
// rule: handlers of SIGCONT
// expect: correct
// mode: timed
#include <chrono>
#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>

static volatile double turns;

static void calibrate(int)
{
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (std::chrono::steady_clock::now() < until) turns = turns + 1;
}

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static bool ready;
    if (!ready) signal(SIGCONT, calibrate);
    ready = true;
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
