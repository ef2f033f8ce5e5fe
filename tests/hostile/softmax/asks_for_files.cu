// Asks the preprocessor which files there are. Where they can't be hidden, only denied, it may not even ask.
// rule: B1
// expect: correct | compile_error build.failed
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#if __has_include("/etc/passwd") || __has_include("/etc/shadow") ||                                            \
                                                  __has_include("/root/.bashrc") ||                            \
                                                                __has_include("oracle.cu") ||                  \
                                                                              __has_include("../oracle.cu") || \
                                                                                            __has_include("task.json")
#error "they are there"
#endif

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
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
