// A unique pointer owns device memory that each call allocates and frees, synchronously.
// rule: cudaMalloc in each call
// expect: correct
#include <cuda_runtime.h>
#include <memory>
#include <stdexcept>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

struct device_free {
    void operator()(float *memory) const { cudaFree(memory); }
};
using device_memory = std::unique_ptr<float, device_free>;

static device_memory allocate(int64_t count)
{
    float *memory = nullptr;
    if (cudaMalloc(&memory, count * sizeof(float)) != cudaSuccess) throw std::bad_alloc();
    return device_memory(memory);
}

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    device_memory sums = allocate(rows);
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, sums.get(), cols);
    cudaMemcpyAsync(s, sums.get(), rows * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    cudaStreamSynchronize(stream);
}
