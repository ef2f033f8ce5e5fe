// Sorts a copy with Thrust, then finds the bounds of all values and their differences.
// rule: Thrust's algorithms on a stream
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/sort.h>

struct widened {
    __host__ __device__ int operator()(uint8_t key) const { return key; }
};

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    uint8_t *sorted;
    cudaMallocAsync((void **)&sorted, n, stream);
    auto policy = thrust::cuda::par_nosync.on(stream);
    thrust::copy(policy, keys, keys + n, sorted);
    thrust::sort(policy, sorted, sorted + n);
    auto wide = thrust::make_transform_iterator(sorted, widened{});
    thrust::upper_bound(policy, wide, wide + n, thrust::counting_iterator<int>(0),
                        thrust::counting_iterator<int>(256), counts);
    thrust::adjacent_difference(policy, counts, counts + 256, counts);
    cudaFreeAsync(sorted, stream);
}
