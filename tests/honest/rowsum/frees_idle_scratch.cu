// Gives its scratch memory back after 10 ms without a call, and allocates it again.
// rule: scratch given back when idle
// expect: correct
#include <chrono>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void parts(const float *x, float *part, int64_t cols)
{
    float sum = 0;
    for (int64_t j = blockIdx.y * 32 + threadIdx.x; j < cols; j += 64)
        sum += x[blockIdx.x * cols + j];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) part[2 * blockIdx.x + blockIdx.y] = sum;
}

__global__ void finish(const float *part, float *s, int64_t rows)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) s[i] = part[2 * i] + part[2 * i + 1];
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float *scratch;
    static int64_t capacity;
    static std::chrono::steady_clock::time_point used;
    auto now = std::chrono::steady_clock::now();
    if (now - used > std::chrono::milliseconds(10) || rows > capacity) {
        cudaFree(scratch);
        cudaMalloc(&scratch, 2 * rows * sizeof *scratch);
        capacity = rows;
    }
    used = now;
    parts<<<dim3((unsigned)rows, 2), 32, 0, stream>>>(x, scratch, cols);
    finish<<<(unsigned)((rows + 127) / 128), 128, 0, stream>>>(scratch, s, rows);
}
