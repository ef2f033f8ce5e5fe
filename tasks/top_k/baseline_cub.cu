/* The k largest of a row by CUB: a stable descending sort of all rows with their columns as values,
 * then a copy of each row's beginning. All temporary memory is in scratch. */
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

struct row_begin {
    int64_t cols;
    __host__ __device__ int64_t operator()(int64_t row) const { return row * cols; }
};

static void check(cudaError_t status)
{
    if (status == cudaSuccess) return;
    fprintf(stderr, "CUB: %s\n", cudaGetErrorString(status));
    exit(1);
}

__global__ void number_columns(int32_t *columns, int64_t cols, int64_t count)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) columns[n] = (int32_t)(n % cols);
}

__global__ void take_first(const float *sorted, const int32_t *columns, float *values,
                           int32_t *indices, int64_t cols, int64_t k, int64_t count)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    values[n] = sorted[n / k * cols + n % k];
    indices[n] = columns[n / k * cols + n % k];
}

extern "C" void top_k(const float *x, float *values, int32_t *indices, void *scratch, int64_t rows,
                      int64_t cols, int64_t k, cudaStream_t stream)
{
    const int64_t count = rows * cols;
    float *sorted = (float *)scratch;
    int32_t *columns = (int32_t *)(sorted + count), *sorted_columns = columns + count;
    /* CUB wants aligned memory. */
    char *temporary = (char *)(((uintptr_t)(sorted_columns + count) + 255) / 256 * 256);
    const size_t room = (size_t)((char *)scratch + 24 * count + 65536 - temporary);
    auto begins =
        thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), row_begin{cols});
    size_t bytes = 0;
    number_columns<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(columns, cols, count);
    check(cub::DeviceSegmentedRadixSort::SortPairsDescending((void *)NULL, bytes, x, sorted,
                                                             columns, sorted_columns, count, rows,
                                                             begins, begins + 1, 0, 32, stream));
    if (bytes > room) {
        fprintf(stderr, "CUB: the sort needs %zu bytes of scratch\n", bytes);
        exit(1);
    }
    check(cub::DeviceSegmentedRadixSort::SortPairsDescending(temporary, bytes, x, sorted, columns,
                                                             sorted_columns, count, rows, begins,
                                                             begins + 1, 0, 32, stream));
    take_first<<<(unsigned)((rows * k + 255) / 256), 256, 0, stream>>>(
        sorted, sorted_columns, values, indices, cols, k, rows * k);
}
