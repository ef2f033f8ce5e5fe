// CUB's device-wide sum, with temporary storage that each call allocates.
// rule: CUB with its own temporary storage
// expect: correct
// devices: cuda
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" void sum(const float *x, float *s, int64_t n, cudaStream_t stream)
{
    void *storage = nullptr;
    size_t bytes = 0;
    cub::DeviceReduce::Sum(storage, bytes, x, s, n, stream);
    cudaMallocAsync(&storage, bytes, stream);
    cub::DeviceReduce::Sum(storage, bytes, x, s, n, stream);
    cudaFreeAsync(storage, stream);
}
