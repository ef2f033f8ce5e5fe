// Instantiates a graph once and gives its node this call's pointers each time.
// rule: graphs re-parameterised per call
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static cudaGraph_t graph;
    static cudaGraphExec_t exec;
    static cudaGraphNode_t node;
    void *arguments[] = {&x, &y, &z, &n};
    cudaKernelNodeParams how = {};
    how.func = (void *)add;
    how.gridDim = dim3((unsigned)((n + 255) / 256));
    how.blockDim = dim3(256);
    how.kernelParams = arguments;
    if (!exec) {
        cudaGraphCreate(&graph, 0);
        cudaGraphAddKernelNode(&node, graph, nullptr, 0, &how);
        cudaGraphInstantiate(&exec, graph, 0);
    } else {
        cudaGraphExecKernelNodeSetParams(exec, node, &how);
    }
    cudaGraphLaunch(exec, stream);
}
