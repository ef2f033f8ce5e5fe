// A kernel launches the graph that does the work, as a sibling that outlives it.
// rule: T4
// expect: compile_error build.failed | unsupported_device build.failed
// expect-cuda: correct | wrong_result stream.unordered | contract_violation stream.left | wrong_result output.mismatch | cheating output.late | launch_failure device.error
// at-most: 1.3
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
__global__ void fire(cudaGraphExec_t work)
{
    cudaGraphLaunch(work, cudaStreamGraphFireAndForgetAsSibling);
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static cudaGraph_t graph, outer;
    static cudaGraphExec_t work, launcher;
    static cudaGraphNode_t node, first;
    void *arguments[] = {&x, &s, &cols};
    cudaKernelNodeParams how = {};
    how.func = (void *)sum_rows;
    how.gridDim = dim3((unsigned)rows);
    how.blockDim = dim3(32);
    how.kernelParams = arguments;
    if (!work) {
        cudaGraphCreate(&graph, 0);
        cudaGraphAddKernelNode(&node, graph, nullptr, 0, &how);
        cudaGraphInstantiate(&work, graph, cudaGraphInstantiateFlagDeviceLaunch);
        void *inner[] = {&work};
        cudaKernelNodeParams start = {};
        start.func = (void *)fire;
        start.gridDim = start.blockDim = dim3(1);
        start.kernelParams = inner;
        cudaGraphCreate(&outer, 0);
        cudaGraphAddKernelNode(&first, outer, nullptr, 0, &start);
        cudaGraphInstantiate(&launcher, outer, 0);
    }
    cudaGraphExecKernelNodeSetParams(work, node, &how);
    cudaGraphUpload(work, stream);
    cudaGraphLaunch(launcher, stream);
}
