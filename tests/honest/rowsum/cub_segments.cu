// Sums the rows with CUB, which takes its temporary storage from cudaMallocAsync in each call.
// rule: CUB with its own temporary storage
// expect: correct
// mode: timed
// devices: cuda
#include <cub/cub.cuh>
#include <cuda_runtime.h>
#include <stdint.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

struct starts_of_rows {
    int64_t cols;
    __host__ __device__ int64_t operator()(int64_t row) const { return row * cols; }
};

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    auto starts = thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0),
                                                  starts_of_rows{cols});
    size_t bytes = 0;
    void *storage = nullptr;
    cub::DeviceSegmentedReduce::Sum(nullptr, bytes, x, s, (int)rows, starts, starts + 1, stream);
    if (cudaMallocAsync(&storage, bytes, stream) != cudaSuccess) return;
    cub::DeviceSegmentedReduce::Sum(storage, bytes, x, s, (int)rows, starts, starts + 1, stream);
    cudaFreeAsync(storage, stream);
}
