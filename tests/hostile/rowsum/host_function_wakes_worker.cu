// A host function in the stream wakes a sleeping worker, which launches the work.
// rule: T3
// expect: contract_violation threads.left
#include <condition_variable>
#include <cuda_runtime.h>
#include <mutex>
#include <stdint.h>
#include <thread>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
struct order {
    const float *x;
    float *s;
    int64_t rows, cols;
};
static std::mutex lock;
static std::condition_variable ready;
static order next;
static bool waiting;

static void wake(void *)
{
    ready.notify_one();
}

static void serve()
{
    std::unique_lock<std::mutex> held(lock);
    for (;;) {
        ready.wait(held, [] { return waiting; });
        waiting = false;
        sum_rows<<<(unsigned)next.rows, 32>>>(next.x, next.s, next.cols);
    }
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static bool started;
    if (!started) std::thread(serve).detach();
    started = true;
    {
        std::lock_guard<std::mutex> held(lock);
        next = {x, s, rows, cols};
        waiting = true;
    }
    cudaLaunchHostFunc(stream, wake, nullptr);
}
