// Stream capture: what it records, forks and joins, and what it refuses.
#include "check.h"

__global__ void add(int *x, int value) { atomicAdd(x, value); }
__global__ void multiply(int *x, int value) { *x *= value; }
static void CUDART_CB host_function(void *data) { ++*(int *)data; }

static int *x, calls;

static void simple()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    int *scratch;
    OK(cudaMallocAsync(&scratch, 4, stream));
    OK(cudaMemsetAsync(scratch, 0, 4, stream));
    for (int i = 1; i <= 3; i++) add<<<1, 1, 0, stream>>>(scratch, i); // arguments are kept by value
    OK(cudaMemcpyAsync(x, scratch, 4, cudaMemcpyDeviceToDevice, stream));
    OK(cudaFreeAsync(scratch, stream));
    OK(cudaLaunchHostFunc(stream, host_function, &calls));
    unsigned long long id;
    OK(cudaStreamGetCaptureInfo(stream, &status, &id));
    *x = -1;
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(*x == -1 && calls == 0); // nothing ran
    size_t count;
    OK(cudaGraphGetNodes(graph, nullptr, &count));
    CHECK(count == 8);
    OK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++) {
        *x = -1;
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaStreamSynchronize(stream));
        CHECK(*x == 6 && calls == i + 1);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(stream));
}

static void fork_and_join()
{
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    add<<<1, 1, 0, a>>>(x, 1);
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    add<<<1, 1, 0, b>>>(x, 10);
    add<<<1, 1, 0, a>>>(x, 100);
    OK(cudaEventRecord(join, b));
    OK(cudaStreamWaitEvent(a, join, 0));
    multiply<<<1, 1, 0, a>>>(x, 2);
    OK(cudaStreamEndCapture(a, &graph));
    size_t nodes, edges;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(nodes == 4 && edges == 4);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    *x = 0;
    OK(cudaGraphLaunch(exec, b));
    OK(cudaDeviceSynchronize());
    CHECK(*x == 222);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));

    // Not joined.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    add<<<1, 1, 0, b>>>(x, 10);
    EXPECT(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(b, &graph));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    CHECK(graph == nullptr);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    add<<<1, 1, 0, b>>>(x, 10);
    EXPECT(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
    add<<<1, 1, 0, b>>>(x, 1); // both streams work again
    OK(cudaGetLastError() == cudaErrorStreamCaptureUnjoined ? cudaSuccess : cudaErrorUnknown);
    OK(cudaDeviceSynchronize());
    CHECK(*x == 223);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
}

static void refusals()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaEvent_t event;
    void *memory;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    EXPECT(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 10));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc(&memory, 10));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaErrorStreamCaptureImplicit, cudaMemset(x, 0, 4)); // the legacy stream
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(event, stream));
    EXPECT(cudaErrorCapturedEvent, cudaEventSynchronize(event));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
    cudaGetLastError();
}

int main()
{
    OK(cudaMallocManaged(&x, sizeof *x));
    simple();
    fork_and_join();
    refusals();
    OK(cudaFree(x));
    CHECK(kfcpu_live_allocations() == 0);
    return 0;
}
