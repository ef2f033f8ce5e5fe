// Scans all of x with CUB in temporary storage of the call, and subtracts the sums at the ends of
// rows.
// rule: CUB with its own temporary storage
// expect: correct
// mode: timed
// devices: cuda
#include <cub/cub.cuh>
#include <cuda_runtime.h>
#include <stdint.h>
#include <thrust/iterator/transform_iterator.h>

struct widened {
    __host__ __device__ double operator()(float value) const { return value; }
};

__global__ void differences(const double *sums, float *s, int64_t rows, int64_t cols)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) s[i] = (float)(sums[(i + 1) * cols - 1] - (i ? sums[i * cols - 1] : 0));
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    auto wide = thrust::make_transform_iterator(x, widened{});
    size_t bytes = 0;
    void *storage = nullptr;
    double *sums = nullptr;
    cudaMallocAsync((void **)&sums, rows * cols * sizeof *sums, stream);
    cub::DeviceScan::InclusiveSum(nullptr, bytes, wide, sums, rows * cols, stream);
    cudaMallocAsync(&storage, bytes, stream);
    cub::DeviceScan::InclusiveSum(storage, bytes, wide, sums, rows * cols, stream);
    differences<<<(unsigned)((rows + 127) / 128), 128, 0, stream>>>(sums, s, rows, cols);
    cudaFreeAsync(storage, stream);
    cudaFreeAsync(sums, stream);
}
