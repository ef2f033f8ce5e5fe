// CUB's device-wide histogram, with temporary storage that grows on demand.
// rule: CUB with its own temporary storage
// expect: correct
// devices: cuda
#include <cub/device/device_histogram.cuh>
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    static void *storage;
    static size_t capacity;
    size_t bytes = 0;
    int count = (int)n;
    cub::DeviceHistogram::HistogramEven(nullptr, bytes, keys, counts, 257, 0, 256, count, stream);
    if (bytes > capacity) {
        cudaFree(storage);
        cudaMalloc(&storage, bytes);
        capacity = bytes;
    }
    cub::DeviceHistogram::HistogramEven(storage, bytes, keys, counts, 257, 0, 256, count, stream);
}
