// Launches both halves through futures, which it waits for.
// rule: host threads joined in the call
// expect: correct
#include <cuda_runtime.h>
#include <future>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    int64_t half = n / 2;
    auto launch = [=](int64_t first, int64_t count) {
        add<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(x + first, y + first, z + first,
                                                                 count);
        return cudaPeekAtLastError();
    };
    auto low = std::async(std::launch::async, launch, 0, half);
    auto high = std::async(std::launch::deferred, launch, half, n - half);
    if (low.get() != cudaSuccess || high.get() != cudaSuccess) cudaGetLastError();
}
