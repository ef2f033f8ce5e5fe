// Stream capture: turns the operations that are issued to streams into the nodes of a graph. The
// CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture", has the rules for forbidden
// calls.
#include "api_internal.h"

#include <algorithm>
#include <atomic>

using namespace kfcpu_api;

namespace
{
auto &captures = *new std::vector<std::shared_ptr<capture>>; // in progress, guarded by `state`
unsigned long long next_capture = 1;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
std::atomic<unsigned long> next_thread{1};

// Detaches the streams and events of a capture that has ended.
void detach_locked(const std::shared_ptr<capture> &what)
{
    for (cudaStream_t stream : what->streams) {
        stream->capture.reset();
        stream->frontier.clear();
    }
    what->streams.clear();
    captures.erase(std::remove(captures.begin(), captures.end(), what), captures.end());
}

// True if the last nodes of the origin stream can reach every forked node.
bool is_joined_locked(const capture &what)
{
    std::unordered_set<cudaGraphNode_t> reached;
    std::vector<cudaGraphNode_t> open = what.origin->frontier;
    while (!open.empty()) {
        cudaGraphNode_t node = open.back();
        open.pop_back();
        if (!reached.insert(node).second) continue;
        open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
    }
    for (cudaStream_t stream : what.streams)
        for (cudaGraphNode_t node : stream->frontier)
            if (!reached.count(node)) return false;
    return true;
}

cudaError_t begin_locked(cudaStream_t stream, cudaGraph_t graph, bool owns_graph,
                         cudaStreamCaptureMode mode)
{
    auto begun = std::make_shared<capture>();
    begun->graph = graph;
    begun->owns_graph = owns_graph;
    begun->id = next_capture++;
    begun->mode = mode;
    begun->origin = stream;
    begun->thread = thread_number();
    begun->streams.insert(stream);
    stream->frontier.clear();
    stream->capture = begun;
    captures.push_back(begun);
    return cudaSuccess;
}

cudaError_t may_begin_locked(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
    if (stream->capture) return cudaErrorIllegalState;
    if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}
} // namespace

namespace kfcpu_api
{

unsigned long thread_number()
{
    static thread_local unsigned long number = next_thread++;
    return number;
}

void invalidate_locked(const std::shared_ptr<capture> &what)
{
    what->invalid = true;
}

cudaError_t refuse_during_capture()
{
    if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
    guard hold(state);
    bool refused = false;
    for (const auto &each : captures) {
        bool own = each->thread == thread_number() && each->mode != cudaStreamCaptureModeRelaxed;
        bool global =
            each->mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal;
        if (!own && !global) continue;
        invalidate_locked(each);
        refused = true;
    }
    return refused ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t refuse_legacy_locked(cudaStream_t stream)
{
    if (!stream->legacy || captures.empty()) return cudaSuccess;
    bool refused = false;
    for (const auto &each : captures) {
        bool blocking = std::any_of(each->streams.begin(), each->streams.end(), [](cudaStream_t s) {
            return !(s->flags & cudaStreamNonBlocking);
        });
        if (!blocking) continue;
        invalidate_locked(each);
        refused = true;
    }
    return refused ? cudaErrorStreamCaptureImplicit : cudaSuccess;
}

} // namespace kfcpu_api

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        cudaError_t error = may_begin_locked(stream, mode);
        if (error != cudaSuccess) return error;
        auto graph = std::make_shared<CUgraph_st>();
        add_graph_locked(graph);
        return begin_locked(stream, graph.get(), true, mode);
    });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph,
                                          const cudaGraphNode_t *dependencies,
                                          const cudaGraphEdgeData *, size_t count,
                                          enum cudaStreamCaptureMode mode)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        cudaError_t error = may_begin_locked(stream, mode);
        if (error != cudaSuccess) return error;
        if (!is_graph_locked(graph) || (count && !dependencies)) return cudaErrorInvalidValue;
        for (size_t i = 0; i < count; i++)
            if (!is_node_locked(dependencies[i]) || dependencies[i]->graph != graph)
                return cudaErrorInvalidValue;
        begin_locked(stream, graph, false, mode);
        stream->frontier.assign(dependencies, dependencies + count);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!graph) return cudaErrorInvalidValue;
        *graph = nullptr;
        if (!stream->capture) return cudaErrorIllegalState;
        std::shared_ptr<capture> ended = stream->capture;
        if (ended->origin != stream) {
            invalidate_locked(ended);
            return cudaErrorStreamCaptureUnmatched;
        }
        if (ended->mode != cudaStreamCaptureModeRelaxed && ended->thread != thread_number())
            return cudaErrorStreamCaptureWrongThread;
        cudaError_t error = ended->invalid             ? cudaErrorStreamCaptureInvalidated
                            : is_joined_locked(*ended) ? cudaSuccess
                                                       : cudaErrorStreamCaptureUnjoined;
        detach_locked(ended);
        if (error == cudaSuccess)
            *graph = ended->graph;
        else if (ended->owns_graph)
            remove_graph_locked(ended->graph);
        ended->graph = nullptr; /* events recorded in it are no longer captured */
        return error;
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *status)
{
    return cudaStreamGetCaptureInfo(handle, status, nullptr);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    return entry([&]() -> cudaError_t {
        if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
            return cudaErrorInvalidValue;
        std::swap(*mode, thread_mode);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies, size_t *count)
{
    return entry([&]() -> cudaError_t {
        if (!status) return cudaErrorInvalidValue;
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        cudaError_t error = stream->capture ? cudaSuccess : refuse_legacy_locked(stream);
        if (error != cudaSuccess) return error;
        *status = !stream->capture           ? cudaStreamCaptureStatusNone
                  : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                             : cudaStreamCaptureStatusActive;
        if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
        if (id) *id = stream->capture->id;
        if (graph) *graph = stream->capture->graph;
        if (dependencies) *dependencies = stream->frontier.data();
        if (count) *count = stream->frontier.size();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id)
{
    return cudaStreamGetCaptureInfo(stream, status, id, nullptr, nullptr,
                                    static_cast<size_t *>(nullptr));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
    if (edges) *edges = nullptr;
    return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t *dependencies,
                                                size_t count, unsigned int flags)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!stream->capture) return cudaErrorIllegalState;
        if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
        if (flags > cudaStreamSetCaptureDependencies || (count && !dependencies))
            return cudaErrorInvalidValue;
        for (size_t i = 0; i < count; i++)
            if (!is_node_locked(dependencies[i]) ||
                dependencies[i]->graph != stream->capture->graph)
                return cudaErrorInvalidValue;
        if (flags == cudaStreamSetCaptureDependencies) stream->frontier.clear();
        for (size_t i = 0; i < count; i++)
            if (std::find(stream->frontier.begin(), stream->frontier.end(), dependencies[i]) ==
                stream->frontier.end())
                stream->frontier.push_back(dependencies[i]);
        return cudaSuccess;
    });
}
