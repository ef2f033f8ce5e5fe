// A graph, captured with a fork to two streams and launched in the call's stream.
// rule: CUDA graphs
// expect: correct
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
    static cudaStream_t side;
    static cudaEvent_t fork, join;
    int64_t half = rows / 2;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(side, fork, 0);
    if (half) softmax_rows<<<(unsigned)half, 32, 0, stream>>>(x, y, cols);
    softmax_rows<<<(unsigned)(rows - half), 32, 0, side>>>(x + half * cols, y + half * cols, cols);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, stream);
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
}
