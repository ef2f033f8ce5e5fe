// Reads the inputs of every call it knows, so that the next call finds them in the cache.
// rule: T11
// expect: correct | cheating calls.early
// at-most: 1.3
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>
#include <vector>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
__device__ float heard;
__global__ void touch(const float *x, int64_t n)
{
    float sum = 0;
    for (int64_t i = threadIdx.x * 16; i < n; i += 16 * blockDim.x) sum += x[i];
    if (sum == 12345.0f) heard = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static std::vector<const float *> known;
    static int64_t shape;
    if (shape != rows * cols) known.clear(), shape = rows * cols;
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
    bool there = false;
    for (const float *other : known) there = there || other == x;
    if (!there) known.push_back(x);
    for (size_t i = 0; i < known.size() && i < 4; i++) touch<<<1, 256, 0, stream>>>(known[i], rows * cols);
}
