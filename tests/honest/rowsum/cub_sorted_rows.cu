// Sorts each row by magnitude with CUB and adds the small elements first.
// rule: CUB with its own temporary storage
// expect: correct
// devices: cuda
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cuda_runtime.h>
#include <stdint.h>
#include <vector>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

/* The bits of the magnitude, with the sign in the last place: sorts by magnitude. */
__global__ void make_keys(const float *x, uint32_t *keys, int64_t count)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) keys[i] = __float_as_uint(x[i]) << 1 | __float_as_uint(x[i]) >> 31;
}

__global__ void sum_rows(const uint32_t *keys, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) {
        uint32_t key = keys[blockIdx.x * cols + j];
        sum += __uint_as_float(key >> 1 | key << 31);
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    int64_t count = rows * cols;
    uint32_t *keys = nullptr, *sorted = nullptr;
    int *offsets = nullptr;
    void *storage = nullptr;
    size_t bytes = 0;
    std::vector<int> begins(rows + 1);
    for (int64_t i = 0; i <= rows; i++) begins[i] = (int)(i * cols);
    cudaMallocAsync((void **)&keys, 2 * count * sizeof *keys, stream);
    cudaMallocAsync((void **)&offsets, begins.size() * sizeof *offsets, stream);
    sorted = keys + count;
    cudaMemcpyAsync(offsets, begins.data(), begins.size() * sizeof *offsets, cudaMemcpyHostToDevice,
                    stream);
    make_keys<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(x, keys, count);
    cub::DeviceSegmentedRadixSort::SortKeys(storage, bytes, keys, sorted, (int)count, (int)rows,
                                            offsets, offsets + 1, 0, 32, stream);
    cudaMallocAsync(&storage, bytes, stream);
    cub::DeviceSegmentedRadixSort::SortKeys(storage, bytes, keys, sorted, (int)count, (int)rows,
                                            offsets, offsets + 1, 0, 32, stream);
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(sorted, s, cols);
    cudaFreeAsync(storage, stream);
    cudaFreeAsync(offsets, stream);
    cudaFreeAsync(keys, stream);
}
