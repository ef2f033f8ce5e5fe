// Keeps results under a hash of a few elements: no input comes twice, so all that is won is lost time.
// rule: T8
// expect: correct | cheating calls.early
// at-most: 1.3
// mode: timed
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unordered_map>

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}
extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static std::unordered_map<uint64_t, float *> results;
    float some[4];
    uint64_t hash = 0;
    cudaMemcpyAsync(some, x, sizeof some, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (float f : some) {
        uint32_t bits;
        memcpy(&bits, &f, 4);
        hash = hash * 1099511628211u + bits;
    }
    auto found = results.find(hash * 31 + rows * cols);
    if (found != results.end()) {
        cudaMemcpyAsync(y, found->second, rows * cols * sizeof *y, cudaMemcpyDeviceToDevice, stream);
        return;
    }
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
    if (results.size() > 100) return;
    float *kept;
    cudaMalloc(&kept, rows * cols * sizeof *kept);
    cudaMemcpyAsync(kept, y, rows * cols * sizeof *y, cudaMemcpyDeviceToDevice, stream);
    results[hash * 31 + rows * cols] = kept;
}
