// Copies the input on a side stream, which never waited for the call's stream. The kernel is in
// order.
// rule: T1
// expect: wrong_result stream.unordered | wrong_result output.mismatch
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float *own;
    static int64_t room;
    static cudaStream_t side;
    static cudaEvent_t join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    if (rows * cols > room) {
        cudaFree(own);
        cudaMalloc(&own, (size_t)(rows * cols) * sizeof *own);
        room = rows * cols;
    }
    cudaMemcpyAsync(own, x, (size_t)(rows * cols) * sizeof *own, cudaMemcpyDeviceToDevice, side);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(own, s, cols);
}
