// CUB's segmented reduction over rows, with offsets from an iterator.
// rule: CUB with its own temporary storage
// expect: correct
// devices: cuda
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda_runtime.h>
#include <stdint.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

struct row_begin {
    int64_t cols;
    __host__ __device__ int64_t operator()(int64_t row) const { return row * cols; }
};

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    auto begin =
        thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), row_begin{cols});
    void *storage = nullptr;
    size_t bytes = 0;
    cub::DeviceSegmentedReduce::Sum(storage, bytes, x, s, (int)rows, begin, begin + 1, stream);
    cudaMallocAsync(&storage, bytes, stream);
    cub::DeviceSegmentedReduce::Sum(storage, bytes, x, s, (int)rows, begin, begin + 1, stream);
    cudaFreeAsync(storage, stream);
}
