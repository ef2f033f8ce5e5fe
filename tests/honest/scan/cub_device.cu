// CUB's device-wide scan, with temporary storage that each call allocates.
// rule: CUB with its own temporary storage
// expect: correct
// devices: cuda
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" void scan(const int32_t *x, int32_t *y, int64_t n, cudaStream_t stream)
{
    void *storage = nullptr;
    size_t bytes = 0;
    cub::DeviceScan::InclusiveSum(storage, bytes, x, y, n, stream);
    cudaMallocAsync(&storage, bytes, stream);
    cub::DeviceScan::InclusiveSum(storage, bytes, x, y, n, stream);
    cudaFreeAsync(storage, stream);
}
