// Works on a blocking stream of its own. It waits for the legacy default stream, not for the
// call's.
// rule: T1
// expect: wrong_result stream.unordered
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
    static cudaStream_t side;
    static cudaEvent_t join;
    if (!side) {
        cudaStreamCreate(&side);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    sum_rows<<<(unsigned)rows, 32, 0, side>>>(x, s, cols);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
}
