// Sorts the keys with CUB's radix sort, and searches where each value ends.
// rule: CUB with its own temporary storage
// expect: correct
// devices: cuda
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ int64_t first_from(const uint8_t *keys, int64_t n, int value)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (keys[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__global__ void measure_runs(const uint8_t *keys, int32_t *counts, int64_t n)
{
    int value = threadIdx.x;
    counts[value] = (int32_t)(first_from(keys, n, value + 1) - first_from(keys, n, value));
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    uint8_t *sorted = nullptr;
    void *storage = nullptr;
    size_t bytes = 0;
    cub::DeviceRadixSort::SortKeys(storage, bytes, keys, sorted, n, 0, 8, stream);
    cudaMallocAsync((void **)&sorted, n, stream);
    cudaMallocAsync(&storage, bytes, stream);
    cub::DeviceRadixSort::SortKeys(storage, bytes, keys, sorted, n, 0, 8, stream);
    measure_runs<<<1, 256, 0, stream>>>(sorted, counts, n);
    cudaFreeAsync(storage, stream);
    cudaFreeAsync(sorted, stream);
}
