// Copies partial sums to a vector on the host, adds them up there, and copies them back.
// rule: work of the host in the call
// expect: correct
#include <cuda_runtime.h>
#include <numeric>
#include <stdint.h>
#include <vector>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void parts(const float *x, float *part, int64_t cols)
{
    float sum = 0;
    for (int64_t j = blockIdx.y * 32 + threadIdx.x; j < cols; j += 32 * gridDim.y)
        sum += x[blockIdx.x * cols + j];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) part[gridDim.y * blockIdx.x + blockIdx.y] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float *part;
    static int64_t capacity;
    const int count = 8;
    if (rows > capacity) {
        cudaFree(part);
        cudaMalloc(&part, rows * count * sizeof *part);
        capacity = rows;
    }
    parts<<<dim3((unsigned)rows, count), 32, 0, stream>>>(x, part, cols);
    std::vector<float> all(rows * count), sums(rows);
    cudaMemcpyAsync(all.data(), part, all.size() * 4, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int64_t i = 0; i < rows; i++)
        sums[i] = (float)std::accumulate(&all[i * count], &all[i * count] + count, 0.0);
    cudaMemcpyAsync(s, sums.data(), rows * sizeof *s, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
}
