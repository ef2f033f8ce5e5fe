// A graph repeats its body while a counter asks for more. Each round does a part of the work.
// rule: graphs with conditional nodes
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

#define ROUNDS 4
__device__ int rounds_done;

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t first = rounds_done * n / ROUNDS, last = (rounds_done + 1) * n / ROUNDS;
    int64_t i = first + (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < last) y[i] = a * x[i];
}
__global__ void start(cudaGraphConditionalHandle more)
{
    rounds_done = 0;
    cudaGraphSetConditional(more, 1);
}
__global__ void count(cudaGraphConditionalHandle more)
{
    rounds_done++;
    cudaGraphSetConditional(more, rounds_done < ROUNDS);
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, void *function,
                                  unsigned blocks, unsigned threads, void **arguments)
{
    cudaGraphNode_t node;
    cudaKernelNodeParams how = {};
    how.func = function;
    how.gridDim = dim3(blocks);
    how.blockDim = dim3(threads);
    how.kernelParams = arguments;
    cudaGraphAddKernelNode(&node, graph, &after, after ? 1 : 0, &how);
    return node;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t loop, work;
    cudaGraphConditionalHandle more;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&more, graph, 0, 0);
    void *handle[] = {&more}, *arguments[] = {&x, &y, &a, &n};
    cudaGraphNode_t first = add_kernel(graph, nullptr, (void *)start, 1, 1, handle);
    cudaGraphNodeParams how = {};
    how.type = cudaGraphNodeTypeConditional;
    how.conditional.handle = more;
    how.conditional.type = cudaGraphCondTypeWhile;
    how.conditional.size = 1;
    cudaGraphAddNode(&loop, graph, &first, nullptr, 1, &how);
    cudaGraph_t body = how.conditional.phGraph_out[0];
    unsigned blocks = (unsigned)((n / ROUNDS + 1 + 255) / 256);
    work = add_kernel(body, nullptr, (void *)multiply, blocks, 256, arguments);
    add_kernel(body, work, (void *)count, 1, 1, handle);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}
