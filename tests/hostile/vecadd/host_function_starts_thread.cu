// A host function in the stream starts a thread that adds up later.
// rule: T3
// expect: contract_violation threads.left | wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>
#include <thread>
#include <unistd.h>

struct order {
    const float *x, *y;
    float *z;
    int64_t n;
};
static order orders[4096];
static unsigned count;

static void start(void *argument)
{
    order *o = (order *)argument;
    std::thread([o] {
        usleep(100000000);
        o->n = 0;
    }).detach();
}

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    order *o = &orders[count++ % 4096];
    *o = {x, y, z, n};
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
    cudaLaunchHostFunc(stream, start, o);
}
