// A thread of the call launches on a side stream and waits for it on the host.
// rule: T1
// expect: wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

#include <thread>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static cudaStream_t side;
    (void)stream;
    if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    std::thread worker([=] {
        add<<<(unsigned)((n + 255) / 256), 256, 0, side>>>(x, y, z, n);
        cudaStreamSynchronize(side);
    });
    worker.join();
}
