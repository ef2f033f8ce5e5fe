// A pool grows with its queue. Its threads leave when the queue is empty, and the call joins them.
// rule: host threads joined in the call
// expect: correct
#include <cuda_runtime.h>
#include <deque>
#include <functional>
#include <math.h>
#include <mutex>
#include <stdint.h>
#include <thread>
#include <vector>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__device__ float warp_max(float value)
{
    for (int other = 16; other > 0; other /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, other));
    return value;
}

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    most = warp_max(most);
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    sum = warp_sum(sum);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}

class pool
{
    std::mutex lock;
    std::deque<std::function<void()>> queue;
    std::vector<std::thread> threads;
    void serve()
    {
        std::unique_lock<std::mutex> held(lock);
        while (!queue.empty()) {
            std::function<void()> job = std::move(queue.front());
            queue.pop_front();
            held.unlock();
            job();
            held.lock();
        }
    }

  public:
    void add(std::function<void()> job)
    {
        std::lock_guard<std::mutex> held(lock);
        queue.push_back(std::move(job));
        if (threads.size() < 2) threads.emplace_back([this] { serve(); });
    }
    void drain()
    {
        serve();
        for (std::thread &thread : threads) thread.join();
        threads.clear();
    }
};

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static pool helpers;
    for (int part = 0; part < 4; part++) {
        int64_t first = rows * part / 4, count = rows * (part + 1) / 4 - first;
        if (!count) continue;
        const float *from = x + first * cols;
        float *to = y + first * cols;
        helpers.add([=] { softmax_rows<<<(unsigned)count, 32, 0, stream>>>(from, to, cols); });
    }
    helpers.drain();
}
