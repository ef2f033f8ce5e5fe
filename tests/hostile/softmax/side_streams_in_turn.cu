// Calls take turns on four side streams, which never wait for the call's stream.
// rule: T1
// expect: wrong_result stream.unordered
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

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols,
                        cudaStream_t stream)
{
    static cudaStream_t sides[4];
    static cudaEvent_t joins[4];
    static unsigned turn;
    unsigned now = turn++ % 4;
    if (!sides[now]) {
        cudaStreamCreateWithFlags(&sides[now], cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&joins[now], cudaEventDisableTiming);
    }
    softmax_rows<<<(unsigned)rows, 32, 0, sides[now]>>>(x, y, cols);
    cudaEventRecord(joins[now], sides[now]);
    cudaStreamWaitEvent(stream, joins[now], 0);
}
