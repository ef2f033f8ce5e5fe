// Gives its scratch memory back if it was not used for 10 ms, and allocates and clears it anew
// then.
// rule: scratch memory of idle programs
// expect: correct
// mode: timed
#include <chrono>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define SCRATCH (16 << 20)

__global__ void exponentials(const float *x, float *e, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) e[blockIdx.x * cols + j] = expf(row[j] - most);
}

__global__ void normalise(const float *e, float *y, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += e[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = e[blockIdx.x * cols + j] / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float *scratch;
    static std::chrono::steady_clock::time_point used;
    auto now = std::chrono::steady_clock::now();
    if (scratch && now - used > std::chrono::milliseconds(10)) {
        cudaFree(scratch);
        scratch = nullptr;
    }
    if (!scratch) {
        if (cudaMalloc(&scratch, SCRATCH) != cudaSuccess) return;
        cudaMemsetAsync(scratch, 0, SCRATCH, stream);
    }
    exponentials<<<(unsigned)rows, 32, 0, stream>>>(x, scratch, cols);
    normalise<<<(unsigned)rows, 32, 0, stream>>>(scratch, y, cols);
    used = std::chrono::steady_clock::now();
}
