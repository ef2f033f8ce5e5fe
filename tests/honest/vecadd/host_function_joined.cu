// A host function in the stream wakes the call, which waits for it.
// rule: host functions joined in the call
// expect: correct
#include <condition_variable>
#include <cuda_runtime.h>
#include <mutex>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

struct latch {
    std::mutex lock;
    std::condition_variable opened;
    bool open = false;
};

static void open_latch(void *context)
{
    latch *l = (latch *)context;
    std::lock_guard<std::mutex> held(l->lock);
    l->open = true;
    l->opened.notify_one();
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    latch done;
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    cudaLaunchHostFunc(stream, open_latch, &done);
    std::unique_lock<std::mutex> held(done.lock);
    done.opened.wait(held, [&] { return done.open; });
}
