// The last eighth of the rows is on a side stream that no stream waits for.
// rule: T1
// expect: wrong_result stream.unordered | contract_violation stream.left
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}
__global__ void slow_rows(const float *x, float *y, int64_t cols)
{
    long long start = clock64();
    while (clock64() - start < 100000) {
    }
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols,
                        cudaStream_t stream)
{
    static cudaStream_t side;
    static cudaEvent_t fork;
    int64_t first = rows - rows / 8;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
    }
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(side, fork, 0);
    if (first < rows)
        slow_rows<<<(unsigned)(rows - first), 32, 0, side>>>(x + first * cols, y + first * cols,
                                                             cols);
    softmax_rows<<<(unsigned)first, 32, 0, stream>>>(x, y, cols);
}
