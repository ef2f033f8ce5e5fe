// The graph in the call's stream only waits for an event. The work is on a side stream.
// rule: T1
// expect: wrong_result stream.unordered
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static cudaStream_t side;
    static cudaEvent_t join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t node;
    k<<<(unsigned)((n + 255) / 256), 256, 0, side>>>(x, y, a, n);
    cudaEventRecord(join, side);
    cudaGraphCreate(&graph, 0);
    cudaGraphAddEventWaitNode(&node, graph, NULL, 0, join);
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, stream);
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
}
