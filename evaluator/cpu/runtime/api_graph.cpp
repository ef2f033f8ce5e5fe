// Graphs: nodes, edges and parameters.
#include "api_internal.h"

#include <stdio.h>
#include <algorithm>

using namespace kfcpu_api;

namespace
{
// Guarded by `state`.
auto &graphs = *new std::unordered_map<cudaGraph_t, std::shared_ptr<CUgraph_st>>;

using edges = const cudaGraphNode_t *;

// True if the graph or a child graph of one of its nodes contains the node.
bool holds_node(const CUgraph_st &graph, cudaGraphNode_t node)
{
    for (const auto &each : graph.nodes) {
        if (each.get() == node) return true;
        if (each->what.child && holds_node(*each->what.child, node)) return true;
    }
    return false;
}

bool holds_graph(const CUgraph_st &graph, cudaGraph_t wanted)
{
    for (const auto &each : graph.nodes)
        if (each->what.child &&
            (each->what.child.get() == wanted || holds_graph(*each->what.child, wanted)))
            return true;
    return false;
}

cudaError_t check_edges_locked(cudaGraph_t graph, edges dependencies, size_t count)
{
    if (!is_graph_locked(graph) || (count && !dependencies)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        bool member = std::any_of(graph->nodes.begin(), graph->nodes.end(),
                                  [&](const auto &node) { return node.get() == dependencies[i]; });
        if (!member) return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies, size_t count,
                     operation what)
{
    guard hold(state);
    cudaError_t error =
        node ? check_edges_locked(graph, dependencies, count) : cudaErrorInvalidValue;
    if (error == cudaSuccess) *node = add_node_locked(graph, std::move(what), dependencies, count);
    return error;
}

// Calls BODY with a node of the given type, under the lock.
template <class Body> cudaError_t with_node(cudaGraphNode_t node, cudaGraphNodeType type, Body body)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        return is_node_locked(node) && node->what.type == type ? body(node->what)
                                                               : cudaErrorInvalidValue;
    });
}

// Returns a list as the API does: only the length if `out` is null, otherwise at most *count
// entries and their number.
cudaError_t give_list(const std::vector<cudaGraphNode_t> &list, cudaGraphNode_t *out, size_t *count)
{
    if (!count) return cudaErrorInvalidValue;
    if (out)
        for (size_t i = 0; i < *count; i++) out[i] = i < list.size() ? list[i] : nullptr;
    *count = out ? std::min(*count, list.size()) : list.size();
    return cudaSuccess;
}
} // namespace

namespace kfcpu_api
{

bool is_graph_locked(cudaGraph_t graph)
{
    if (graphs.count(graph)) return true;
    return std::any_of(graphs.begin(), graphs.end(),
                       [&](const auto &each) { return holds_graph(*each.second, graph); });
}

void add_graph_locked(std::shared_ptr<CUgraph_st> graph)
{
    cudaGraph_t handle = graph.get();
    graphs[handle] = std::move(graph);
}

void remove_graph_locked(cudaGraph_t graph)
{
    graphs.erase(graph);
}

bool is_node_locked(cudaGraphNode_t node)
{
    if (!node) return false;
    return std::any_of(graphs.begin(), graphs.end(),
                       [&](const auto &each) { return holds_node(*each.second, node); });
}

cudaGraphNode_t add_node_locked(cudaGraph_t graph, operation what, edges dependencies, size_t count)
{
    auto node = std::make_unique<CUgraphNode_st>();
    node->what = std::move(what);
    node->graph = graph;
    node->dependencies.assign(dependencies, dependencies + count);
    graph->nodes.push_back(std::move(node));
    return graph->nodes.back().get();
}

std::shared_ptr<CUgraph_st> copy_graph(const CUgraph_st &graph,
                                       std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> *copies)
{
    auto copy = std::make_shared<CUgraph_st>();
    for (const auto &node : graph.nodes) {
        cudaGraphNode_t made = add_node_locked(copy.get(), node->what, nullptr, 0);
        made->enabled = node->enabled;
        if (made->what.child) made->what.child = copy_graph(*made->what.child, copies);
        auto &kernel = made->what.kernel;
        for (size_t i = 0; i < kernel.values.size(); i++)
            kernel.pointers[i] = kernel.values[i].data();
        (*copies)[node.get()] = made;
    }
    for (const auto &node : graph.nodes)
        for (cudaGraphNode_t dependency : node->dependencies)
            (*copies)[node.get()]->dependencies.push_back((*copies)[dependency]);
    return copy;
}

bool sort_graph(const CUgraph_st &graph, std::vector<cudaGraphNode_t> *order)
{
    std::unordered_map<cudaGraphNode_t, size_t> waiting;
    std::unordered_map<cudaGraphNode_t, std::vector<cudaGraphNode_t>> dependents;
    order->clear();
    for (const auto &node : graph.nodes) {
        waiting[node.get()] = node->dependencies.size();
        if (node->dependencies.empty()) order->push_back(node.get());
        for (cudaGraphNode_t dependency : node->dependencies)
            dependents[dependency].push_back(node.get());
    }
    for (size_t i = 0; i < order->size(); i++)
        for (cudaGraphNode_t dependent : dependents[(*order)[i]])
            if (--waiting[dependent] == 0) order->push_back(dependent);
    return order->size() == graph.nodes.size();
}

} // namespace kfcpu_api

// ---- Whole graphs

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    return entry([&]() -> cudaError_t {
        if (!graph || flags) return cudaErrorInvalidValue;
        auto created = std::make_shared<CUgraph_st>();
        *graph = created.get();
        guard hold(state);
        add_graph_locked(std::move(created));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    /* Outlives the lock: its memory nodes free their memory. */
    std::shared_ptr<CUgraph_st> destroyed;
    return entry([&]() -> cudaError_t {
        guard hold(state);
        auto found = graphs.find(graph);
        if (found == graphs.end()) return cudaErrorInvalidValue;
        destroyed = std::move(found->second);
        graphs.erase(found);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t original)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!clone || !is_graph_locked(original)) return cudaErrorInvalidValue;
        std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies;
        auto copy = copy_graph(*original, &copies);
        copy->copies = std::move(copies);
        *clone = copy.get();
        add_graph_locked(std::move(copy));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original,
                                     cudaGraph_t clone)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!node || !is_graph_locked(clone)) return cudaErrorInvalidValue;
        auto found = clone->copies.find(original);
        if (found == clone->copies.end()) return cudaErrorInvalidValue;
        *node = found->second;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!is_graph_locked(graph)) return cudaErrorInvalidValue;
        std::vector<cudaGraphNode_t> list;
        for (const auto &node : graph->nodes) list.push_back(node.get());
        return give_list(list, nodes, count);
    });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!is_graph_locked(graph)) return cudaErrorInvalidValue;
        std::vector<cudaGraphNode_t> list;
        for (const auto &node : graph->nodes)
            if (node->dependencies.empty()) list.push_back(node.get());
        return give_list(list, nodes, count);
    });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              size_t *count)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!is_graph_locked(graph) || !count || !from != !to) return cudaErrorInvalidValue;
        std::vector<cudaGraphNode_t> sources, targets;
        for (const auto &node : graph->nodes)
            for (cudaGraphNode_t dependency : node->dependencies) {
                sources.push_back(dependency);
                targets.push_back(node.get());
            }
        size_t again = *count;
        give_list(sources, from, count);
        return give_list(targets, to, from ? &again : count);
    });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!type || !is_node_locked(node)) return cudaErrorInvalidValue;
        *type = node->what.type;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies,
                                         size_t *count)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        return is_node_locked(node) ? give_list(node->dependencies, dependencies, count)
                                    : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *dependents,
                                           size_t *count)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!is_node_locked(node)) return cudaErrorInvalidValue;
        std::vector<cudaGraphNode_t> list;
        for (const auto &each : node->graph->nodes)
            if (std::count(each->dependencies.begin(), each->dependencies.end(), node))
                list.push_back(each.get());
        return give_list(list, dependents, count);
    });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, edges from, edges to, size_t count)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaError_t error = check_edges_locked(graph, from, count);
        if (error == cudaSuccess) error = check_edges_locked(graph, to, count);
        for (size_t i = 0; i < count && error == cudaSuccess; i++) {
            auto &list = to[i]->dependencies;
            if (from[i] == to[i] || std::count(list.begin(), list.end(), from[i]))
                return cudaErrorInvalidValue;
            list.push_back(from[i]);
        }
        return error;
    });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, edges from, edges to, size_t count)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaError_t error = check_edges_locked(graph, from, count);
        if (error == cudaSuccess) error = check_edges_locked(graph, to, count);
        for (size_t i = 0; i < count && error == cudaSuccess; i++) {
            auto &list = to[i]->dependencies;
            auto found = std::find(list.begin(), list.end(), from[i]);
            if (found == list.end()) return cudaErrorInvalidValue;
            list.erase(found);
        }
        return error;
    });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
    operation destroyed; /* outlives the lock */
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!is_node_locked(node)) return cudaErrorInvalidValue;
        auto &nodes = node->graph->nodes;
        for (auto &each : nodes) {
            auto &list = each->dependencies;
            list.erase(std::remove(list.begin(), list.end(), node), list.end());
        }
        destroyed = std::move(node->what);
        nodes.erase(std::find_if(nodes.begin(), nodes.end(),
                                 [&](const auto &each) { return each.get() == node; }));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!path || !is_graph_locked(graph)) return cudaErrorInvalidValue;
        FILE *file = fopen(path, "w");
        if (!file) return cudaErrorOperatingSystem;
        fprintf(file, "digraph graph_0 {\n");
        std::unordered_map<cudaGraphNode_t, size_t> numbers;
        for (const auto &node : graph->nodes) {
            size_t number = numbers.size();
            numbers[node.get()] = number;
            fprintf(file, "  node_%zu [label=\"%zu\\ntype %d\"];\n", number, number,
                    int(node->what.type));
        }
        for (const auto &node : graph->nodes)
            for (cudaGraphNode_t dependency : node->dependencies)
                fprintf(file, "  node_%zu -> node_%zu;\n", numbers[dependency],
                        numbers[node.get()]);
        fprintf(file, "}\n");
        return fclose(file) == 0 ? cudaSuccess : cudaErrorOperatingSystem;
    });
}

// ---- Nodes by type

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                   size_t count, const struct cudaKernelNodeParams *parameters)
{
    return entry([&]() -> cudaError_t {
        if (!parameters) return cudaErrorInvalidValue;
        operation what;
        what.type = cudaGraphNodeTypeKernel;
        cudaError_t error = bind_kernel(*parameters, &what.kernel);
        return error != cudaSuccess ? error
                                    : add_node(node, graph, dependencies, count, std::move(what));
    });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         struct cudaKernelNodeParams *parameters)
{
    return with_node(node, cudaGraphNodeTypeKernel, [&](operation &what) {
        if (!parameters) return cudaErrorInvalidValue;
        const kfcpu_geometry &g = what.kernel.geometry;
        *parameters = cudaKernelNodeParams{const_cast<void *>(what.kernel.address),
                                           dim3(g.grid[0], g.grid[1], g.grid[2]),
                                           dim3(g.block[0], g.block[1], g.block[2]),
                                           unsigned(g.dynamic_shared),
                                           what.kernel.pointers.data(),
                                           nullptr};
        return cudaSuccess;
    });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaKernelNodeParams *parameters)
{
    kernel_call bound;
    if (!parameters) return note(cudaErrorInvalidValue);
    cudaError_t error = bind_kernel(*parameters, &bound);
    if (error != cudaSuccess) return note(error);
    return with_node(node, cudaGraphNodeTypeKernel, [&](operation &what) {
        bound.geometry.cooperative = what.kernel.geometry.cooperative;
        what.kernel = std::move(bound);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
                                            const cudaKernelNodeAttrValue *value)
{
    return with_node(node, cudaGraphNodeTypeKernel, [&](operation &what) {
        if (!value) return cudaErrorInvalidValue;
        if (attribute == cudaLaunchAttributeCooperative)
            what.kernel.geometry.cooperative = value->cooperative;
        if (attribute == cudaLaunchAttributeClusterDimension &&
            uint64_t(value->clusterDim.x) * value->clusterDim.y * value->clusterDim.z != 1)
            return cudaErrorInvalidClusterSize;
        return cudaSuccess; /* the other attributes are hints */
    });
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
                                            cudaKernelNodeAttrValue *value)
{
    return with_node(node, cudaGraphNodeTypeKernel, [&](operation &what) {
        if (!value) return cudaErrorInvalidValue;
        *value = cudaKernelNodeAttrValue{};
        if (attribute == cudaLaunchAttributeCooperative)
            value->cooperative = what.kernel.geometry.cooperative;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                   size_t count, const struct cudaMemcpy3DParms *parameters)
{
    return entry([&]() -> cudaError_t {
        if (!parameters) return cudaErrorInvalidValue;
        operation what;
        what.type = cudaGraphNodeTypeMemcpy;
        what.copy = *parameters;
        cudaError_t error = check_copy(*parameters);
        return error != cudaSuccess ? error
                                    : add_node(node, graph, dependencies, count, std::move(what));
    });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                     size_t count, void *to, const void *from, size_t size,
                                     enum cudaMemcpyKind kind)
{
    cudaMemcpy3DParms copy = linear_copy(to, from, size, kind);
    return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &copy);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *parameters)
{
    return with_node(node, cudaGraphNodeTypeMemcpy, [&](operation &what) {
        if (!parameters) return cudaErrorInvalidValue;
        *parameters = what.copy;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaMemcpy3DParms *parameters)
{
    cudaError_t error = parameters ? check_copy(*parameters) : cudaErrorInvalidValue;
    if (error != cudaSuccess) return note(error);
    return with_node(node, cudaGraphNodeTypeMemcpy, [&](operation &what) {
        what.copy = *parameters;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
                                           size_t size, enum cudaMemcpyKind kind)
{
    cudaMemcpy3DParms copy = linear_copy(to, from, size, kind);
    return cudaGraphMemcpyNodeSetParams(node, &copy);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                   size_t count, const struct cudaMemsetParams *parameters)
{
    return entry([&]() -> cudaError_t {
        if (!parameters) return cudaErrorInvalidValue;
        operation what;
        what.type = cudaGraphNodeTypeMemset;
        what.fill = *parameters;
        cudaError_t error = check_fill(*parameters);
        return error != cudaSuccess ? error
                                    : add_node(node, graph, dependencies, count, std::move(what));
    });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *parameters)
{
    return with_node(node, cudaGraphNodeTypeMemset, [&](operation &what) {
        if (!parameters) return cudaErrorInvalidValue;
        *parameters = what.fill;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaMemsetParams *parameters)
{
    cudaError_t error = parameters ? check_fill(*parameters) : cudaErrorInvalidValue;
    if (error != cudaSuccess) return note(error);
    return with_node(node, cudaGraphNodeTypeMemset, [&](operation &what) {
        what.fill = *parameters;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                 size_t count, const struct cudaHostNodeParams *parameters)
{
    return entry([&]() -> cudaError_t {
        if (!parameters || !parameters->fn) return cudaErrorInvalidValue;
        operation what;
        what.type = cudaGraphNodeTypeHost;
        what.host = *parameters;
        return add_node(node, graph, dependencies, count, std::move(what));
    });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *parameters)
{
    return with_node(node, cudaGraphNodeTypeHost, [&](operation &what) {
        if (!parameters) return cudaErrorInvalidValue;
        *parameters = what.host;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                       const struct cudaHostNodeParams *parameters)
{
    return with_node(node, cudaGraphNodeTypeHost, [&](operation &what) {
        if (!parameters || !parameters->fn) return cudaErrorInvalidValue;
        what.host = *parameters;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                       size_t count, cudaGraph_t child)
{
    return entry([&]() -> cudaError_t {
        operation what;
        what.type = cudaGraphNodeTypeGraph;
        {
            guard hold(state);
            if (!is_graph_locked(child)) return cudaErrorInvalidValue;
            std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies;
            what.child = copy_graph(*child, &copies);
            what.child->copies = std::move(copies);
        }
        return add_node(node, graph, dependencies, count, std::move(what));
    });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph)
{
    return with_node(node, cudaGraphNodeTypeGraph, [&](operation &what) {
        if (!graph) return cudaErrorInvalidValue;
        *graph = what.child.get();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                  size_t count)
{
    return entry([&] { return add_node(node, graph, dependencies, count, operation()); });
}

namespace
{
cudaError_t add_event_node(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                           size_t count, cudaEvent_t event, cudaGraphNodeType type)
{
    return entry([&]() -> cudaError_t {
        operation what;
        what.type = type;
        what.event = event;
        {
            guard hold(state);
            if (!is_event_locked(event)) return cudaErrorInvalidResourceHandle;
        }
        return add_node(node, graph, dependencies, count, std::move(what));
    });
}
} // namespace

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                        edges dependencies, size_t count, cudaEvent_t event)
{
    return add_event_node(node, graph, dependencies, count, event, cudaGraphNodeTypeEventRecord);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                      size_t count, cudaEvent_t event)
{
    return add_event_node(node, graph, dependencies, count, event, cudaGraphNodeTypeWaitEvent);
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                     size_t count, struct cudaMemAllocNodeParams *parameters)
{
    return entry([&]() -> cudaError_t {
        if (!parameters || !parameters->bytesize) return cudaErrorInvalidValue;
        operation what;
        what.type = cudaGraphNodeTypeMemAlloc;
        cudaError_t error =
            allocate(&parameters->dptr, parameters->bytesize, cudaMemoryTypeDevice, 0, true);
        if (error != cudaSuccess) return error;
        what.memory = std::shared_ptr<void>(parameters->dptr, [](void *memory) {
            release(memory, 1u << cudaMemoryTypeDevice, true);
        });
        what.allocation = *parameters;
        /* Keeps the memory until the lock is free if the node can't be added. */
        operation kept = what;
        return add_node(node, graph, dependencies, count, std::move(what));
    });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, edges dependencies,
                                    size_t count, void *pointer)
{
    return entry([&]() -> cudaError_t {
        if (!pointer) return cudaErrorInvalidValue;
        operation what;
        what.type = cudaGraphNodeTypeMemFree;
        what.freed = pointer;
        return add_node(node, graph, dependencies, count, std::move(what));
    });
}
