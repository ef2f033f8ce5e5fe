// The host API's insides. One process is one CUDA context on one device.
//
// Work is done when it is issued: a launch, a copy, a host function has ended when the call returns. So a stream is a name, its priority
// and the capture it may be part of, an event is a time, and every synchronisation is immediate. What a capture or a graph records is an
// `operation`, the same value that is performed at once otherwise.
//
// `state` guards the tables of handles, captures and graphs. It is never held while candidate code runs (kernels, host functions).
#pragma once
#include <time.h>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include "cuda_runtime_api.h"
#include "kfcpu_stub.h"

namespace kfcpu_api
{

extern std::recursive_mutex state; // recursive: what is destroyed under it may free graph memory
using guard = std::lock_guard<std::recursive_mutex>;

// ---- Errors (api_error.cpp)
cudaError_t note(cudaError_t error);   // becomes the thread's last error unless it is success; returns it
cudaError_t context_error();           // what broke the context, if anything did
void break_context(cudaError_t error); // a kernel failed: every later call says so
void mend_context();                   // cudaDeviceReset

// Runs the body of an API function: nothing works in a broken context, and what went wrong is noted.
template <class Body> cudaError_t entry(Body body)
{
    cudaError_t error = context_error();
    if (error == cudaSuccess) {
        try {
            error = body();
        } catch (const std::bad_alloc &) {
            error = cudaErrorMemoryAllocation;
        }
    }
    return note(error);
}

// ---- Operations
struct kernel_call {
    kfcpu_geometry geometry{};
    kfcpu_loop loop = nullptr;
    std::shared_ptr<void> closure;
    const void *address = nullptr;
    std::vector<std::vector<char>> values; // the arguments, for cudaGraphKernelNodeGetParams
    std::vector<void *> pointers;          // to them
};

struct operation {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    kernel_call kernel;
    cudaMemcpy3DParms copy{};
    cudaMemsetParams fill{};
    size_t fill_depth = 1, fill_slice = 0; // cudaMemset3D: slices and bytes between them
    cudaHostNodeParams host{};
    cudaStreamCallback_t callback = nullptr; // instead of host.fn, with callback_stream
    cudaStream_t callback_stream = nullptr;
    cudaEvent_t event = nullptr;
    std::shared_ptr<CUgraph_st> child;
    cudaMemAllocNodeParams allocation{};
    std::shared_ptr<void> memory; // an allocation node's, freed with the last graph that has it
    void *freed = nullptr;
};

// Does it now. Host functions and kernels run in the calling thread.
cudaError_t perform(const operation &what);
// Does it now, or records it if the stream captures.
cudaError_t issue(cudaStream_t stream, operation what);
cudaError_t check_copy(const cudaMemcpy3DParms &copy);
cudaError_t check_fill(const cudaMemsetParams &fill);
cudaMemcpy3DParms linear_copy(void *to, const void *from, size_t count, cudaMemcpyKind kind);

// ---- Memory (api_memory.cpp)
struct allocation {
    size_t size;
    cudaMemoryType type;
    unsigned flags;
    bool registered; // not ours: cudaHostRegister
    bool graph;      // freed with its graph
};
cudaError_t allocate(void **pointer, size_t size, cudaMemoryType type, unsigned flags, bool graph = false);
// False when the pointer is no allocation of one of the types in the mask (1 << type).
bool release(void *pointer, unsigned types, bool graph = false);
void release_all();
// False when the range begins in an allocation and leaves it.
bool range_is_valid(const void *pointer, size_t size);

// ---- Launches (api_launch.cpp)
// Asks the stub at `address` for its answer to `what`; false: no kernel is there.
bool ask_kernel(const void *address, kfcpu::call *what);
cudaError_t check_launch(const kfcpu_geometry &geometry, const kfcpu::stub *kernel);
// A kernel with its arguments, ready to be performed.
cudaError_t bind_kernel(const cudaKernelNodeParams &parameters, kernel_call *bound);
cudaError_t run_kernel(const kfcpu_geometry &geometry, kfcpu_loop loop, void *closure);

// ---- Streams and captures (api_stream.cpp, api_capture.cpp); `state` is held where the name ends in _locked
struct capture {
    cudaGraph_t graph = nullptr;
    bool owns_graph = true;
    unsigned long long id = 0;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    cudaStream_t origin = nullptr;
    unsigned long thread = 0; // of cudaStreamBeginCapture
    bool invalid = false;
    std::unordered_set<cudaStream_t> streams;
};

cudaStream_t find_stream_locked(cudaStream_t handle); // null: no such stream
bool is_event_locked(cudaEvent_t event);
// A call that can't be captured and is unsafe while others capture: success, or the error to return.
cudaError_t refuse_during_capture();
// Work for the legacy stream while a stream that synchronises with it captures.
cudaError_t refuse_legacy_locked(cudaStream_t stream);
void invalidate_locked(const std::shared_ptr<capture> &what);
bool is_capturing(cudaStream_t stream);
unsigned long thread_number();

// ---- Graphs (api_graph.cpp)
cudaGraphNode_t add_node_locked(cudaGraph_t graph, operation what, const cudaGraphNode_t *dependencies, size_t count);
std::shared_ptr<CUgraph_st> copy_graph(const CUgraph_st &graph, std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> *copies);
// Nodes in an order that respects the dependencies; false when they form a cycle.
bool sort_graph(const CUgraph_st &graph, std::vector<cudaGraphNode_t> *order);
cudaError_t run_graph(const CUgraph_st &graph);
bool is_graph_locked(cudaGraph_t graph);
void add_graph_locked(std::shared_ptr<CUgraph_st> graph);
void remove_graph_locked(cudaGraph_t graph);
bool is_node_locked(cudaGraphNode_t node);

} // namespace kfcpu_api

struct CUstream_st {
    unsigned flags = 0;
    int priority = 0;
    unsigned long long id = 0;
    bool legacy = false;
    std::shared_ptr<kfcpu_api::capture> capture;
    std::vector<cudaGraphNode_t> frontier; // what the next captured operation depends on
    cudaAccessPolicyWindow window{};
    cudaSynchronizationPolicy policy = cudaSyncPolicyAuto;
};

struct CUevent_st {
    unsigned flags = 0;
    bool recorded = false;
    timespec time{};
    std::shared_ptr<kfcpu_api::capture> capture; // of the last record, if that was captured
    std::vector<cudaGraphNode_t> frontier;
};

struct CUgraphNode_st {
    kfcpu_api::operation what;
    CUgraph_st *graph = nullptr;
    bool enabled = true;
    std::vector<cudaGraphNode_t> dependencies;
};

struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;          // in the order of creation
    std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies; // of another graph's nodes, if this is a clone
};

struct CUgraphExec_st {
    std::shared_ptr<CUgraph_st> graph;                           // a copy
    std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies; // the original's nodes to its own
    unsigned long long flags = 0;
};
