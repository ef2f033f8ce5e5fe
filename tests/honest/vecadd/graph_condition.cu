// A graph adds in a conditional node, which a kernel before it switches on.
// rule: graphs with conditional nodes
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

__global__ void decide(cudaGraphConditionalHandle handle, int64_t n)
{
    cudaGraphSetConditional(handle, n > 0);
}

static void kernel(cudaKernelNodeParams *how, void *function, unsigned blocks, void **arguments)
{
    *how = {};
    how->func = function;
    how->gridDim = dim3(blocks);
    how->blockDim = dim3(blocks == 1 ? 1 : 256);
    how->kernelParams = arguments;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t first, condition, body;
    cudaGraphConditionalHandle handle;
    cudaKernelNodeParams how;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&handle, graph, 0, 0);
    void *decisions[] = {&handle, &n}, *arguments[] = {&x, &y, &z, &n};
    kernel(&how, (void *)decide, 1, decisions);
    cudaGraphAddKernelNode(&first, graph, nullptr, 0, &how);
    cudaGraphNodeParams node = {};
    node.type = cudaGraphNodeTypeConditional;
    node.conditional.handle = handle;
    node.conditional.type = cudaGraphCondTypeIf;
    node.conditional.size = 1;
    cudaGraphAddNode(&condition, graph, &first, nullptr, 1, &node);
    kernel(&how, (void *)add, (unsigned)((n + 255) / 256), arguments);
    cudaGraphAddKernelNode(&body, node.conditional.phGraph_out[0], nullptr, 0, &how);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}
