// The graph copies what a side stream has computed. The side stream never waited for the call's
// stream.
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
    static float *own;
    static int64_t room;
    static cudaStream_t side;
    static cudaEvent_t join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t node;
    if (rows * cols > room) {
        cudaFree(own);
        cudaMalloc(&own, (size_t)(rows * cols) * sizeof *own);
        room = rows * cols;
    }
    /* One buffer serves all calls, so the side stream waits for the call before. */
    cudaStreamSynchronize(side);
    softmax_rows<<<(unsigned)rows, 32, 0, side>>>(x, own, cols);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, y, own, (size_t)(rows * cols) * sizeof *own,
                             cudaMemcpyDeviceToDevice);
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, stream);
    cudaEventRecord(join, stream);
    cudaStreamWaitEvent(side, join, 0);
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
}
