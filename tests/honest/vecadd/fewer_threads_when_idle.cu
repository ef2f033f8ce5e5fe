// Copies on as many host threads as it had use for lately: one after a pause of 10 ms, and more
// with each call.
// rule: thread pools that shrink
// expect: correct
// mode: timed
// devices: cpu
#include <chrono>
#include <cuda_runtime.h>
#include <stdint.h>
#include <thread>
#include <vector>

static void add(const float *x, const float *y, float *z, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static int64_t workers = 1;
    static std::chrono::steady_clock::time_point used;
    if (std::chrono::steady_clock::now() - used > std::chrono::milliseconds(10)) workers = 1;
    std::vector<std::thread> pool;
    for (int64_t w = 1; w < workers; w++)
        pool.emplace_back(add, x, y, z, n * w / workers, n * (w + 1) / workers);
    add(x, y, z, 0, n / workers);
    for (std::thread &one : pool) one.join();
    if (workers < 4) workers++;
    used = std::chrono::steady_clock::now();
}
