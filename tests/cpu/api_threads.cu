// Several host threads launch, copy and allocate at the same time.
#include <thread>
#include <vector>
#include "check.h"

__global__ void add(int *x, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}

static void work(int number, bool *good)
{
    const int n = 3000;
    std::vector<int> host(n, number);
    int *x;
    cudaStream_t stream;
    *good = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess && cudaMalloc(&x, n * sizeof *x) == cudaSuccess;
    for (int round = 0; round < 20 && *good; round++) {
        cudaMemcpyAsync(x, host.data(), n * sizeof *x, cudaMemcpyHostToDevice, stream);
        add<<<(n + 127) / 128, 128, 0, stream>>>(x, n, number + round);
        add<<<(n + 127) / 128, 128, 0, cudaStreamPerThread>>>(x, n, 1);
        std::vector<int> back(n);
        cudaMemcpyAsync(back.data(), x, n * sizeof *x, cudaMemcpyDeviceToHost, stream);
        *good = cudaStreamSynchronize(stream) == cudaSuccess;
        for (int i = 0; i < n; i++) *good = *good && back[i] == 2 * number + round + 1;
    }
    cudaFree(x);
    cudaStreamDestroy(stream);
    add<<<1, 5000>>>(nullptr, 0, 0); // the error is this thread's own
    *good = *good && cudaGetLastError() == cudaErrorInvalidValue;
}

int main()
{
    bool good[4];
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back(work, i, &good[i]);
    for (auto &thread : threads) thread.join();
    for (bool each : good) CHECK(each);
    OK(cudaGetLastError());
    CHECK(kfcpu_live_allocations() == 0);
    return 0;
}
