// A graph of the first call computes into memory of its own; later calls copy from there.
// rule: T7
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

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
    static cudaGraphExec_t exec;
    static float *kept;
    static int64_t elements;
    if (elements != rows * cols) {
        cudaGraph_t graph;
        cudaStream_t own;
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        cudaMalloc(&kept, rows * cols * sizeof *kept);
        cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal);
        softmax_rows<<<(unsigned)rows, 32, 0, own>>>(x, kept, cols);
        cudaStreamEndCapture(own, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        elements = rows * cols;
    }
    cudaGraphLaunch(exec, stream);
    cudaMemcpyAsync(y, kept, elements * sizeof *y, cudaMemcpyDeviceToDevice, stream);
}
