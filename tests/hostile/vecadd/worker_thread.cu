// A worker that a global constructor started does the work, after the call has returned.
// rule: T2
// expect: contract_violation threads.left
#include <atomic>
#include <cuda_runtime.h>
#include <stdint.h>
#include <thread>
#include <unistd.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
struct worker {
    std::atomic<int> wanted{0};
    worker()
    {
        std::thread([this] {
            for (;;) {
                while (!wanted) usleep(50);
                usleep(100);
                wanted = 0;
            }
        }).detach();
    }
};
static worker late;

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    late.wanted = 1;
}
