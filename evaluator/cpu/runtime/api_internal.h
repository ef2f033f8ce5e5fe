// Declarations inside the host API. A process is one CUDA context on one device.
//
// A call does its work before it returns: a launch, a copy, a host function. So a stream is only a
// name, a priority and a capture that it may be part of. An event is a time, and every
// synchronisation returns at once. An `operation` is a piece of work. It runs at once, or a capture
// or a graph records it.
//
// `state` guards the tables of handles, captures and graphs. It is not held while candidate code
// runs (kernels, host functions).
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

// Recursive, because the destruction of an object under the lock may free graph memory.
extern std::recursive_mutex state;
using guard = std::lock_guard<std::recursive_mutex>;

// ---- Errors (api_error.cpp)
// Stores the error as the thread's last error unless it is success, and returns it.
cudaError_t note(cudaError_t error);
cudaError_t context_error(); // the error that broke the context, or success
// Called when a kernel failed: every later call returns this error.
void break_context(cudaError_t error);
void mend_context(); // for cudaDeviceReset

// Runs the body of an API function and stores its error. In a broken context the body does not run.
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
    std::vector<void *> pointers;          // to `values`
};

struct operation {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    kernel_call kernel;
    cudaMemcpy3DParms copy{};
    cudaMemsetParams fill{};
    size_t fill_depth = 1, fill_slice = 0; // cudaMemset3D: slices, and bytes between two of them
    cudaHostNodeParams host{};
    cudaStreamCallback_t callback = nullptr; // in place of host.fn, with callback_stream
    cudaStream_t callback_stream = nullptr;
    cudaEvent_t event = nullptr;
    std::shared_ptr<CUgraph_st> child;
    cudaMemAllocNodeParams allocation{};
    // The memory of an allocation node, freed with the last graph that has the node.
    std::shared_ptr<void> memory;
    void *freed = nullptr;
};

// Runs an operation now. Host functions and kernels run in the calling thread.
cudaError_t perform(const operation &what);
// Runs an operation now, or records it if the stream captures.
cudaError_t issue(cudaStream_t stream, operation what);
cudaError_t check_copy(const cudaMemcpy3DParms &copy);
cudaError_t check_fill(const cudaMemsetParams &fill);
cudaMemcpy3DParms linear_copy(void *to, const void *from, size_t count, cudaMemcpyKind kind);

// ---- Memory (api_memory.cpp)
struct allocation {
    size_t size;
    cudaMemoryType type;
    unsigned flags;
    bool registered; // the candidate's memory, from cudaHostRegister
    bool graph;      // freed with its graph
};
cudaError_t allocate(void **pointer, size_t size, cudaMemoryType type, unsigned flags,
                     bool graph = false);
// False if the pointer is no allocation of a type in the mask (1 << type).
bool release(void *pointer, unsigned types, bool graph = false);
void release_all();
// False if the range begins in an allocation and ends outside it.
bool range_is_valid(const void *pointer, size_t size);

// ---- Launches (api_launch.cpp)
// Asks the stub at `address` for its answer to `what`. False: `address` is no kernel.
bool ask_kernel(const void *address, kfcpu::call *what);
cudaError_t check_launch(const kfcpu_geometry &geometry, const kfcpu::stub *kernel);
// Binds a kernel to its arguments, ready to be performed.
cudaError_t bind_kernel(const cudaKernelNodeParams &parameters, kernel_call *bound);
cudaError_t run_kernel(const kfcpu_geometry &geometry, kfcpu_loop loop, void *closure);

// ---- Streams and captures (api_stream.cpp, api_capture.cpp). Callers of *_locked hold `state`.
struct capture {
    cudaGraph_t graph = nullptr;
    bool owns_graph = true;
    unsigned long long id = 0;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    cudaStream_t origin = nullptr;
    unsigned long thread = 0; // the thread that called cudaStreamBeginCapture
    bool invalid = false;
    std::unordered_set<cudaStream_t> streams;
};

cudaStream_t find_stream_locked(cudaStream_t handle); // null: unknown handle
bool is_event_locked(cudaEvent_t event);
// Checks a call that can't be captured and is unsafe during captures of other streams. Returns
// success, or the error for the caller.
cudaError_t refuse_during_capture();
// Checks work for the legacy stream while a stream that synchronises with it captures.
cudaError_t refuse_legacy_locked(cudaStream_t stream);
void invalidate_locked(const std::shared_ptr<capture> &what);
bool is_capturing(cudaStream_t stream);
unsigned long thread_number();

// ---- Graphs (api_graph.cpp)
cudaGraphNode_t add_node_locked(cudaGraph_t graph, operation what,
                                const cudaGraphNode_t *dependencies, size_t count);
std::shared_ptr<CUgraph_st> copy_graph(
    const CUgraph_st &graph, std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> *copies);
// Sorts the nodes so that each comes after its dependencies. False if they form a cycle.
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
    std::vector<cudaGraphNode_t> frontier; // the nodes that the next captured operation depends on
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
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes; // in the order of creation
    // For a clone: the nodes of the original and their copies.
    std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies;
};

struct CUgraphExec_st {
    std::shared_ptr<CUgraph_st> graph; // a copy of the instantiated graph
    // The nodes of the original and their copies in `graph`.
    std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies;
    unsigned long long flags = 0;
};
