// Memory that belongs to a graph lives as long as a graph or executable graph that has its node.
#include "check.h"

__global__ void set(int *x, int value) { *x = value; }

int main()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t allocate, kernel, copy, release;
    OK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = 64;
    OK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &memory));
    CHECK(memory.dptr != nullptr && kfcpu_live_allocations() == 1);
    int value = 42, out = 0;
    void *arguments[] = {&memory.dptr, &value};
    cudaKernelNodeParams parameters = {(void *)set, dim3(1), dim3(1), 0, arguments, nullptr};
    OK(cudaGraphAddKernelNode(&kernel, graph, &allocate, 1, &parameters));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, &out, memory.dptr, 4, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, memory.dptr));
    OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphDestroy(graph));
    CHECK(kfcpu_live_allocations() == 1);
    OK(cudaGraphLaunch(exec, 0));
    CHECK(out == 42);
    OK(cudaGraphExecDestroy(exec));
    CHECK(kfcpu_live_allocations() == 0);
    return 0;
}
