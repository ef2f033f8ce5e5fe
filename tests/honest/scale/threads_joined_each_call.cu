// Joins threads and returns at once. The kernel still cleans up behind the last one.
// rule: joined host threads
// expect: correct
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <thread>
#include <vector>

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    std::vector<std::thread> threads;
    for (int64_t part = 0; part < 3; part++)
        threads.emplace_back([=] {
            for (int64_t i = n * part / 3; i < n * (part + 1) / 3; i++) y[i] = a * x[i];
        });
    for (std::thread &thread : threads) thread.join();
}
