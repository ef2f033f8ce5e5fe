// Executable graphs: copies of graphs with node parameters that may change between launches.
#include "api_internal.h"

using namespace kfcpu_api;

namespace
{
// Guarded by `state`.
auto &execs = *new std::unordered_map<cudaGraphExec_t, std::shared_ptr<CUgraphExec_st>>;

// Calls BODY with the executable graph's own node for a node of the original, under the lock.
template <class Body>
cudaError_t with_exec_node(cudaGraphExec_t exec, cudaGraphNode_t node, Body body)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        auto found = execs.find(exec);
        if (found == execs.end()) return cudaErrorInvalidResourceHandle;
        auto copy = exec->copies.find(node);
        return copy == exec->copies.end() ? cudaErrorInvalidValue : body(*copy->second);
    });
}

template <class Body>
cudaError_t with_exec_node(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeType type,
                           Body body)
{
    return with_exec_node(exec, node, [&](CUgraphNode_st &own) {
        return own.what.type == type ? body(own.what) : cudaErrorInvalidValue;
    });
}

// Checks that both have the same nodes and edges in the same order of creation, and that fixed
// parameters are equal. On failure, sets *at to the differing node.
cudaGraphExecUpdateResult compare(const CUgraph_st &own, const CUgraph_st &other,
                                  cudaGraphNode_t *at)
{
    if (own.nodes.size() != other.nodes.size()) return cudaGraphExecUpdateErrorTopologyChanged;
    std::unordered_map<cudaGraphNode_t, size_t> own_number, other_number;
    for (size_t i = 0; i < own.nodes.size(); i++) {
        own_number[own.nodes[i].get()] = i;
        other_number[other.nodes[i].get()] = i;
    }
    for (size_t i = 0; i < own.nodes.size(); i++) {
        const CUgraphNode_st &a = *own.nodes[i], &b = *other.nodes[i];
        *at = other.nodes[i].get();
        if (a.what.type != b.what.type) return cudaGraphExecUpdateErrorNodeTypeChanged;
        if (a.dependencies.size() != b.dependencies.size())
            return cudaGraphExecUpdateErrorTopologyChanged;
        for (size_t j = 0; j < a.dependencies.size(); j++)
            if (own_number[a.dependencies[j]] != other_number[b.dependencies[j]])
                return cudaGraphExecUpdateErrorTopologyChanged;
        if (a.what.child) {
            cudaGraphExecUpdateResult result = compare(*a.what.child, *b.what.child, at);
            if (result != cudaGraphExecUpdateSuccess) return result;
        }
        bool memory =
            a.what.type == cudaGraphNodeTypeMemAlloc || a.what.type == cudaGraphNodeTypeMemFree;
        if (memory) return cudaGraphExecUpdateErrorNotSupported;
    }
    *at = nullptr;
    return cudaGraphExecUpdateSuccess;
}

cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!exec || !is_graph_locked(graph)) return cudaErrorInvalidValue;
        if (flags & cudaGraphInstantiateFlagDeviceLaunch) return cudaErrorNotSupported;
        std::vector<cudaGraphNode_t> order;
        if (!sort_graph(*graph, &order)) return cudaErrorInvalidValue;
        auto created = std::make_shared<CUgraphExec_st>();
        created->graph = copy_graph(*graph, &created->copies);
        created->flags = flags;
        *exec = created.get();
        execs[*exec] = std::move(created);
        return cudaSuccess;
    });
}
} // namespace

namespace kfcpu_api
{

cudaError_t run_graph(const CUgraph_st &graph)
{
    std::vector<cudaGraphNode_t> order;
    if (!sort_graph(graph, &order)) return cudaErrorInvalidValue;
    for (cudaGraphNode_t node : order) {
        cudaError_t error = node->enabled ? perform(node->what) : cudaSuccess;
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

} // namespace kfcpu_api

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return instantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return instantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *parameters)
{
    if (!parameters) return note(cudaErrorInvalidValue);
    cudaError_t error = instantiate(exec, graph, parameters->flags);
    parameters->errNode_out = nullptr;
    parameters->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess
                             : error == cudaErrorNotSupported
                                 ? cudaGraphInstantiateNodeOperationNotSupported
                                 : cudaGraphInstantiateInvalidStructure;
    return error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    std::shared_ptr<CUgraphExec_st> destroyed; /* outlives the lock */
    return entry([&]() -> cudaError_t {
        guard hold(state);
        auto found = execs.find(exec);
        if (found == execs.end()) return cudaErrorInvalidResourceHandle;
        destroyed = std::move(found->second);
        execs.erase(found);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!flags || !execs.count(exec)) return cudaErrorInvalidValue;
        *flags = exec->flags;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    return entry([&]() -> cudaError_t {
        std::shared_ptr<CUgraphExec_st> kept;
        operation what;
        what.type = cudaGraphNodeTypeGraph;
        {
            guard hold(state);
            auto found = execs.find(exec);
            if (found == execs.end()) return cudaErrorInvalidResourceHandle;
            kept = found->second;
            what.child = kept->graph;
        }
        if (is_capturing(stream)) {
            guard hold(state);
            invalidate_locked(find_stream_locked(stream)->capture);
            return cudaErrorStreamCaptureUnsupported;
        }
        return issue(stream, std::move(what));
    });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        return execs.count(exec) && find_stream_locked(stream) ? cudaSuccess
                                                               : cudaErrorInvalidResourceHandle;
    });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *result)
{
    std::shared_ptr<CUgraph_st> replaced; /* outlives the lock */
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!execs.count(exec) || !is_graph_locked(graph)) return cudaErrorInvalidValue;
        cudaGraphExecUpdateResultInfo info{};
        info.result = compare(*exec->graph, *graph, &info.errorNode);
        if (result) *result = info;
        if (info.result != cudaGraphExecUpdateSuccess) return cudaErrorGraphExecUpdateFailure;
        std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies;
        std::shared_ptr<CUgraph_st> updated = copy_graph(*graph, &copies);
        /* The nodes of the instantiated graph still find their counterparts. */
        std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> counterpart;
        for (size_t i = 0; i < updated->nodes.size(); i++) {
            counterpart[exec->graph->nodes[i].get()] = updated->nodes[i].get();
            updated->nodes[i]->enabled = exec->graph->nodes[i]->enabled;
        }
        for (auto &entry : exec->copies) {
            auto found = counterpart.find(entry.second);
            if (found != counterpart.end()) copies.emplace(entry.first, found->second);
        }
        replaced = std::move(exec->graph);
        exec->graph = std::move(updated);
        exec->copies = std::move(copies);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *parameters)
{
    kernel_call bound;
    cudaError_t error = parameters ? bind_kernel(*parameters, &bound) : cudaErrorInvalidValue;
    if (error != cudaSuccess) return note(error);
    return with_exec_node(exec, node, cudaGraphNodeTypeKernel, [&](operation &what) {
        bound.geometry.cooperative = what.kernel.geometry.cooperative;
        what.kernel = std::move(bound);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaMemcpy3DParms *parameters)
{
    cudaError_t error = parameters ? check_copy(*parameters) : cudaErrorInvalidValue;
    if (error != cudaSuccess) return note(error);
    return with_exec_node(exec, node, cudaGraphNodeTypeMemcpy, [&](operation &what) {
        what.copy = *parameters;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                               const void *from, size_t size,
                                               enum cudaMemcpyKind kind)
{
    cudaMemcpy3DParms copy = linear_copy(to, from, size, kind);
    return cudaGraphExecMemcpyNodeSetParams(exec, node, &copy);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *parameters)
{
    cudaError_t error = parameters ? check_fill(*parameters) : cudaErrorInvalidValue;
    if (error != cudaSuccess) return note(error);
    return with_exec_node(exec, node, cudaGraphNodeTypeMemset, [&](operation &what) {
        what.fill = *parameters;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams *parameters)
{
    return with_exec_node(exec, node, cudaGraphNodeTypeHost, [&](operation &what) {
        if (!parameters || !parameters->fn) return cudaErrorInvalidValue;
        what.host = *parameters;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 cudaGraph_t child)
{
    return with_exec_node(exec, node, cudaGraphNodeTypeGraph, [&](operation &what) {
        cudaGraphNode_t at = nullptr;
        if (!is_graph_locked(child) ||
            compare(*what.child, *child, &at) != cudaGraphExecUpdateSuccess)
            return cudaErrorInvalidValue;
        std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies;
        what.child = copy_graph(*child, &copies);
        return cudaSuccess;
    });
}

namespace
{
cudaError_t set_event(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeType type,
                      cudaEvent_t event)
{
    return with_exec_node(exec, node, type, [&](operation &what) {
        if (!is_event_locked(event)) return cudaErrorInvalidResourceHandle;
        what.event = event;
        return cudaSuccess;
    });
}
} // namespace

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 cudaEvent_t event)
{
    return set_event(exec, node, cudaGraphNodeTypeEventRecord, event);
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               cudaEvent_t event)
{
    return set_event(exec, node, cudaGraphNodeTypeWaitEvent, event);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    unsigned int enabled)
{
    return with_exec_node(exec, node, [&](CUgraphNode_st &own) {
        cudaGraphNodeType type = own.what.type;
        if (type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemcpy &&
            type != cudaGraphNodeTypeMemset)
            return cudaErrorInvalidValue;
        own.enabled = enabled != 0;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    unsigned int *enabled)
{
    return with_exec_node(exec, node, [&](CUgraphNode_st &own) {
        if (!enabled) return cudaErrorInvalidValue;
        *enabled = own.enabled;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    return device == 0 ? cudaSuccess : note(cudaErrorInvalidDevice);
}
