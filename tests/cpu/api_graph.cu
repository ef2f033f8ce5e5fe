// Graphs built node by node, their parameters, clones, children, and updates of executable graphs.
#include "check.h"

__global__ void add(int *x, int value) { *x += value; }
__global__ void multiply(int *x, int value) { *x *= value; }
static void CUDART_CB host_function(void *data) { ++*(int *)data; }

static int *x, *y, *z, calls;

static cudaKernelNodeParams kernel(void *function, void **arguments)
{
    cudaKernelNodeParams parameters = {};
    parameters.func = function;
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(1);
    parameters.kernelParams = arguments;
    return parameters;
}

static void run(cudaGraphExec_t exec, int wanted)
{
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    if (*y != wanted) fprintf(stderr, "%d instead of %d\n", *y, wanted);
    CHECK(*y == wanted);
}

int main()
{
    OK(cudaMallocManaged(&x, sizeof *x));
    OK(cudaMallocManaged(&y, sizeof *y));
    OK(cudaMallocManaged(&z, sizeof *z));
    *z = 1000;
    cudaGraph_t graph, clone;
    cudaGraphExec_t exec;
    cudaGraphNode_t set, first, second, copy, host, empty, record;
    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill = {x, 4, 0, 4, 1, 1};
    OK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    int five = 5, three = 3;
    void *first_arguments[] = {&x, &five}, *second_arguments[] = {&x, &three};
    cudaKernelNodeParams parameters = kernel((void *)add, first_arguments);
    OK(cudaGraphAddKernelNode(&first, graph, &set, 1, &parameters));
    five = 1000; // the node has its own copy
    parameters = kernel((void *)multiply, second_arguments);
    OK(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &parameters));
    OK(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &second, 1, y, x, 4, cudaMemcpyDefault));
    cudaHostNodeParams host_parameters = {host_function, &calls};
    OK(cudaGraphAddHostNode(&host, graph, &copy, 1, &host_parameters));
    OK(cudaGraphAddEmptyNode(&empty, graph, &host, 1));
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    OK(cudaGraphAddEventRecordNode(&record, graph, &empty, 1, event));
    size_t count;
    OK(cudaGraphGetRootNodes(graph, nullptr, &count));
    CHECK(count == 1);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(copy, &type));
    CHECK(type == cudaGraphNodeTypeMemcpy);
    cudaGraphNode_t found[4];
    count = 4;
    OK(cudaGraphNodeGetDependencies(copy, found, nullptr, &count));
    CHECK(count == 1 && found[0] == second);
    count = 4;
    OK(cudaGraphNodeGetDependentNodes(set, found, nullptr, &count));
    CHECK(count == 1 && found[0] == first);

    OK(cudaGraphInstantiate(&exec, graph, 0));
    run(exec, 15);
    CHECK(calls == 1);

    // Parameters of the executable graph, then of the graph, which leaves the executable one alone.
    int seven = 7;
    void *changed[] = {&x, &seven};
    parameters = kernel((void *)add, changed);
    OK(cudaGraphExecKernelNodeSetParams(exec, first, &parameters));
    run(exec, 21);
    cudaKernelNodeParams got;
    OK(cudaGraphKernelNodeGetParams(first, &got));
    CHECK(got.func == (void *)add && *(int *)got.kernelParams[1] == 5 && got.gridDim.x == 1);
    *(int *)got.kernelParams[1] = 6; // as candidates do: take, change, put back
    OK(cudaGraphKernelNodeSetParams(first, &got));
    run(exec, 21);
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(exec, graph, &info));
    CHECK(info.result == cudaGraphExecUpdateSuccess);
    run(exec, 18);
    OK(cudaGraphExecKernelNodeSetParams(exec, first, &parameters)); // nodes are still known after an update
    run(exec, 21);
    fill.value = 1;
    OK(cudaGraphExecMemsetNodeSetParams(exec, set, &fill));
    run(exec, 24);
    OK(cudaGraphNodeSetEnabled(exec, second, 0));
    run(exec, 8);
    unsigned enabled;
    OK(cudaGraphNodeGetEnabled(exec, second, &enabled));
    CHECK(enabled == 0);
    OK(cudaGraphNodeSetEnabled(exec, second, 1));
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, y, z, 4, cudaMemcpyDefault));
    run(exec, 1000);
    int other_calls = 0, before = calls;
    host_parameters.userData = &other_calls;
    OK(cudaGraphExecHostNodeSetParams(exec, host, &host_parameters));
    run(exec, 1000);
    CHECK(other_calls == 1 && calls == before);
    EXPECT(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, copy, &parameters));
    OK(cudaGraphUpload(exec, 0));

    // A clone as a child graph; a graph launch can't be captured.
    OK(cudaGraphClone(&clone, graph));
    cudaGraphNode_t cloned;
    OK(cudaGraphNodeFindInClone(&cloned, first, clone));
    OK(cudaGraphNodeGetType(cloned, &type));
    CHECK(cloned != first && type == cudaGraphNodeTypeKernel);
    cudaGraph_t parent;
    cudaGraphNode_t child;
    OK(cudaGraphCreate(&parent, 0));
    OK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, clone));
    OK(cudaGraphDestroy(clone));
    cudaGraphExec_t outer;
    OK(cudaGraphInstantiateWithFlags(&outer, parent, 0));
    run(outer, 18);
    cudaStream_t stream;
    cudaGraph_t captured;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaGraphLaunch(outer, stream));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &captured));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    multiply<<<1, 1, 0, stream>>>(y, 3);
    add<<<1, 1, 0, stream>>>(y, 2);
    OK(cudaStreamEndCapture(stream, &captured));
    cudaGraphExec_t both;
    OK(cudaGraphInstantiate(&both, captured));
    run(both, 56);

    // A captured kernel's parameters can be changed as well.
    cudaGraphNode_t nodes[2];
    count = 2;
    OK(cudaGraphGetNodes(captured, nodes, &count));
    CHECK(count == 2);
    OK(cudaGraphKernelNodeGetParams(nodes[1], &got));
    CHECK(got.func == (void *)add && *(int **)got.kernelParams[0] == y && *(int *)got.kernelParams[1] == 2);
    int fifty = 50;
    void *last[] = {got.kernelParams[0], &fifty};
    got.kernelParams = last;
    OK(cudaGraphExecKernelNodeSetParams(both, nodes[1], &got));
    run(both, 218);

    // Refused: another shape, cycles, foreign nodes.
    EXPECT(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(both, graph, &info));
    CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    OK(cudaGraphAddDependencies(graph, &record, &set, nullptr, 1));
    cudaGraphExec_t never;
    EXPECT(cudaErrorInvalidValue, cudaGraphInstantiate(&never, graph, 0));
    OK(cudaGraphRemoveDependencies(graph, &record, &set, nullptr, 1));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&empty, parent, &first, 1));
    OK(cudaGraphDestroyNode(host));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
#if CUDART_VERSION < 13000 // the older signatures
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, &count));
    OK(cudaGraphNodeGetDependencies(copy, nullptr, &count));
    OK(cudaGraphNodeGetDependentNodes(set, nullptr, &count));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, &count));
#endif
    CHECK(count == 4);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(outer));
    OK(cudaGraphExecDestroy(both));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(parent));
    OK(cudaGraphDestroy(captured));
#ifdef KFCPU_WARP // handles that are gone are noticed here
    EXPECT(cudaErrorInvalidResourceHandle, cudaGraphLaunch(exec, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(graph));
#endif
    return 0;
}
