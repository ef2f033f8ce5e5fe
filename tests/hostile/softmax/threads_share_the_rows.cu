// Two threads of the call each do half of the rows, one of them beside the call's stream.
// rule: T1
// expect: wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

#include <thread>

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
    static cudaStream_t side;
    static cudaEvent_t join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    int64_t half = rows / 2;
    std::thread beside([=] {
        softmax_rows<<<(unsigned)(rows - half), 32, 0, side>>>(x + half * cols, y + half * cols,
                                                               cols);
        cudaEventRecord(join, side);
    });
    if (half) softmax_rows<<<(unsigned)half, 32, 0, stream>>>(x, y, cols);
    beside.join();
    cudaStreamWaitEvent(stream, join, 0);
}
