// Builds a graph of explicit nodes in every call.
// rule: graphs built and launched in one call
// expect: correct
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
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t clear, compute;
    void *arguments[] = {&x, &y, &cols};
    cudaMemsetParams zero = {};
    zero.dst = y;
    zero.elementSize = 4;
    zero.width = rows * cols;
    zero.height = 1;
    cudaKernelNodeParams how = {};
    how.func = (void *)softmax_rows;
    how.gridDim = dim3((unsigned)rows);
    how.blockDim = dim3(32);
    how.kernelParams = arguments;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero);
    cudaGraphAddKernelNode(&compute, graph, &clear, 1, &how);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}
