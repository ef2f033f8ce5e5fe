// Leaves a detached thread behind, which writes outputs and ends within microseconds.
// rule: T2
// expect: contract_violation threads.left | wrong_result output.mismatch
// devices: cpu
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>
#include <thread>

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int calls;
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i];
    if (calls++ % 7) return;
    std::thread([=] {
        for (volatile int i = 0; i < 20000; i++) continue;
        for (int64_t i = 0; i < n; i += 64) y[i] = a * x[i];
    }).detach();
}
