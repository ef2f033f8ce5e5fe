// Streams and events. All issued work is done, so they only hold the properties that candidates
// read.
#include "api_internal.h"

#include <algorithm>
#include <atomic>

using namespace kfcpu_api;

namespace
{
CUstream_st legacy_stream;
thread_local CUstream_st per_thread_stream;
auto &streams = *new std::unordered_set<cudaStream_t>;
auto &events = *new std::unordered_set<cudaEvent_t>;
unsigned long long next_id = 3; // 1 and 2 are the legacy and the per-thread stream
constexpr int greatest_priority = -5;

// The per-thread stream exists as long as its thread.
struct prepare {
    prepare()
    {
        legacy_stream.legacy = true;
        legacy_stream.id = 1;
    }
} prepared;

bool is_captured_locked(cudaEvent_t event)
{
    return event->capture && event->capture->graph;
}
} // namespace

namespace kfcpu_api
{

cudaStream_t find_stream_locked(cudaStream_t handle)
{
    if (!handle || handle == cudaStreamLegacy) return &legacy_stream;
    if (handle == cudaStreamPerThread) {
        per_thread_stream.id = 2;
        return &per_thread_stream;
    }
    return streams.count(handle) || handle == &legacy_stream || handle == &per_thread_stream
               ? handle
               : nullptr;
}

bool is_event_locked(cudaEvent_t event)
{
    return events.count(event) != 0;
}

cudaError_t issue(cudaStream_t handle, operation what)
{
    {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (stream->capture) {
            if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
            cudaGraphNode_t node =
                add_node_locked(stream->capture->graph, std::move(what), stream->frontier.data(),
                                stream->frontier.size());
            stream->frontier.assign(1, node);
            return cudaSuccess;
        }
        cudaError_t error = refuse_legacy_locked(stream);
        if (error != cudaSuccess) return error;
    }
    return perform(what);
}

bool is_capturing(cudaStream_t handle)
{
    guard hold(state);
    cudaStream_t stream = find_stream_locked(handle);
    return stream && stream->capture;
}

} // namespace kfcpu_api

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    return entry([&]() -> cudaError_t {
        if (!stream || (flags & ~unsigned(cudaStreamNonBlocking))) return cudaErrorInvalidValue;
        auto created = std::make_unique<CUstream_st>();
        created->flags = flags;
        created->priority = std::min(0, std::max(greatest_priority, priority));
        guard hold(state);
        created->id = next_id++;
        streams.insert(created.get());
        *stream = created.release();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!streams.erase(stream)) return cudaErrorInvalidResourceHandle;
        if (stream->capture) {
            invalidate_locked(stream->capture);
            stream->capture->streams.erase(stream);
        }
        delete stream;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!stream->capture) return refuse_legacy_locked(stream);
        invalidate_locked(stream->capture);
        return cudaErrorStreamCaptureUnsupported;
    });
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    return cudaStreamSynchronize(handle);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int flags)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        if (!stream || !is_event_locked(event)) return cudaErrorInvalidResourceHandle;
        if (flags & ~unsigned(cudaEventWaitExternal)) return cudaErrorInvalidValue;
        if (stream->capture && stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
        if (flags & cudaEventWaitExternal) {
            if (!stream->capture) return cudaErrorIllegalState;
            operation what;
            what.type = cudaGraphNodeTypeWaitEvent;
            what.event = event;
            cudaGraphNode_t node =
                add_node_locked(stream->capture->graph, std::move(what), stream->frontier.data(),
                                stream->frontier.size());
            stream->frontier.assign(1, node);
            return cudaSuccess;
        }
        if (!is_captured_locked(event)) {
            /* The event was recorded, so its work is done, or it was never recorded. */
            if (!stream->capture || !event->recorded) return cudaSuccess;
            invalidate_locked(stream->capture);
            return cudaErrorStreamCaptureIsolation;
        }
        if (event->capture->invalid) return cudaErrorStreamCaptureInvalidated;
        if (stream->legacy) {
            invalidate_locked(event->capture);
            return cudaErrorStreamCaptureImplicit;
        }
        if (stream->capture && stream->capture != event->capture) {
            invalidate_locked(stream->capture);
            invalidate_locked(event->capture);
            return cudaErrorStreamCaptureMerge;
        }
        if (!stream->capture) { /* a fork */
            stream->capture = event->capture;
            stream->capture->streams.insert(stream);
            stream->frontier.clear();
        }
        for (cudaGraphNode_t node : event->frontier)
            if (std::find(stream->frontier.begin(), stream->frontier.end(), node) ==
                stream->frontier.end())
                stream->frontier.push_back(node);
        return cudaSuccess;
    });
}

namespace
{
// Calls BODY with the stream of the handle, under the lock.
template <class Body> cudaError_t with_stream(cudaStream_t handle, Body body)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        return stream ? body(stream) : cudaErrorInvalidResourceHandle;
    });
}
} // namespace

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int *flags)
{
    return with_stream(handle, [&](cudaStream_t stream) {
        if (!flags) return cudaErrorInvalidValue;
        *flags = stream->flags;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *priority)
{
    return with_stream(handle, [&](cudaStream_t stream) {
        if (!priority) return cudaErrorInvalidValue;
        *priority = stream->priority;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long *id)
{
    return with_stream(handle, [&](cudaStream_t stream) {
        if (!id) return cudaErrorInvalidValue;
        *id = stream->id;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int *device)
{
    return with_stream(handle, [&](cudaStream_t) {
        if (!device) return cudaErrorInvalidValue;
        *device = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue *value)
{
    return with_stream(handle, [&](cudaStream_t stream) {
        if (!value) return cudaErrorInvalidValue;
        switch (attribute) {
        case cudaLaunchAttributeAccessPolicyWindow:
            if (value->accessPolicyWindow.hitRatio < 0 || value->accessPolicyWindow.hitRatio > 1)
                return cudaErrorInvalidValue;
            stream->window = value->accessPolicyWindow;
            return cudaSuccess;
        case cudaLaunchAttributeSynchronizationPolicy:
            stream->policy = value->syncPolicy;
            return cudaSuccess;
        case cudaLaunchAttributePriority: stream->priority = value->priority; return cudaSuccess;
        default: return cudaErrorInvalidValue;
        }
    });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue *value)
{
    return with_stream(handle, [&](cudaStream_t stream) {
        if (!value) return cudaErrorInvalidValue;
        switch (attribute) {
        case cudaLaunchAttributeAccessPolicyWindow:
            value->accessPolicyWindow = stream->window;
            return cudaSuccess;
        case cudaLaunchAttributeSynchronizationPolicy:
            value->syncPolicy = stream->policy;
            return cudaSuccess;
        case cudaLaunchAttributePriority: value->priority = stream->priority; return cudaSuccess;
        default: return cudaErrorInvalidValue;
        }
    });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
    return with_stream(to, [&](cudaStream_t target) {
        cudaStream_t source = find_stream_locked(from);
        if (!source) return cudaErrorInvalidResourceHandle;
        target->window = source->window;
        target->policy = source->policy;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void *pointer, size_t, unsigned int)
{
    return with_stream(handle,
                       [&](cudaStream_t) { return pointer ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    return entry([&]() -> cudaError_t {
        if (!function) return cudaErrorInvalidValue;
        operation what;
        what.type = cudaGraphNodeTypeHost;
        what.host = cudaHostNodeParams{function, data};
        return issue(stream, std::move(what));
    });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                  unsigned int flags)
{
    return entry([&]() -> cudaError_t {
        if (!callback || flags) return cudaErrorInvalidValue;
        if (is_capturing(stream)) {
            guard hold(state);
            invalidate_locked(find_stream_locked(stream)->capture);
            return cudaErrorStreamCaptureUnsupported;
        }
        operation what;
        what.type = cudaGraphNodeTypeHost;
        what.host.userData = data;
        what.callback = callback;
        what.callback_stream = stream;
        return issue(stream, std::move(what));
    });
}

// ---- Events

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return entry([&]() -> cudaError_t {
        if (!event || (flags & ~7u)) return cudaErrorInvalidValue;
        auto created = std::make_unique<CUevent_st>();
        created->flags = flags;
        guard hold(state);
        events.insert(created.get());
        *event = created.release();
        return cudaSuccess;
    });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned int flags)
{
    return entry([&]() -> cudaError_t {
        if (flags & ~unsigned(cudaEventRecordExternal)) return cudaErrorInvalidValue;
        guard hold(state);
        cudaStream_t stream = find_stream_locked(handle);
        if (!stream || !is_event_locked(event)) return cudaErrorInvalidResourceHandle;
        if (stream->capture && stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
        if (stream->capture && (flags & cudaEventRecordExternal)) {
            operation what;
            what.type = cudaGraphNodeTypeEventRecord;
            what.event = event;
            cudaGraphNode_t node =
                add_node_locked(stream->capture->graph, std::move(what), stream->frontier.data(),
                                stream->frontier.size());
            stream->frontier.assign(1, node);
            return cudaSuccess;
        }
        cudaError_t error = stream->capture ? cudaSuccess : refuse_legacy_locked(stream);
        if (error != cudaSuccess) return error;
        event->capture = stream->capture;
        event->frontier = stream->capture ? stream->frontier : std::vector<cudaGraphNode_t>();
        if (!stream->capture) {
            clock_gettime(CLOCK_MONOTONIC, &event->time);
            event->recorded = true;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!is_event_locked(event)) return cudaErrorInvalidResourceHandle;
        if (!is_captured_locked(event)) return cudaSuccess;
        invalidate_locked(event->capture);
        return cudaErrorCapturedEvent;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return cudaEventQuery(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!events.erase(event)) return cudaErrorInvalidResourceHandle;
        delete event;
        return cudaSuccess;
    });
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    return entry([&]() -> cudaError_t {
        guard hold(state);
        if (!milliseconds) return cudaErrorInvalidValue;
        if (!is_event_locked(start) || !is_event_locked(end)) return cudaErrorInvalidResourceHandle;
        if (is_captured_locked(start) || is_captured_locked(end)) return cudaErrorCapturedEvent;
        if (((start->flags | end->flags) & cudaEventDisableTiming) || !start->recorded ||
            !end->recorded)
            return cudaErrorInvalidResourceHandle;
        double seconds = double(end->time.tv_sec - start->time.tv_sec) +
                         1e-9 * double(end->time.tv_nsec - start->time.tv_nsec);
        *milliseconds = float(seconds * 1e3);
        return cudaSuccess;
    });
}
