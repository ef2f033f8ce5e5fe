// A graph of two child graphs, one for each half, is built and launched in each call.
// rule: graphs built and launched in one call
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

static cudaGraph_t graph_of(const float *x, const float *y, float *z, int64_t n)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    void *arguments[] = {&x, &y, &z, &n};
    cudaKernelNodeParams how = {};
    how.func = (void *)add;
    how.gridDim = dim3((unsigned)((n + 255) / 256));
    how.blockDim = dim3(256);
    how.kernelParams = arguments;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, &how);
    return graph;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    int64_t half = n / 2;
    cudaGraph_t graph,
        halves[2] = {graph_of(x, y, z, half), graph_of(x + half, y + half, z + half, n - half)};
    cudaGraphNode_t nodes[2];
    cudaGraphExec_t exec;
    cudaGraphCreate(&graph, 0);
    for (int i = 0; i < 2; i++) cudaGraphAddChildGraphNode(&nodes[i], graph, nullptr, 0, halves[i]);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    for (cudaGraph_t part : halves) cudaGraphDestroy(part);
}
