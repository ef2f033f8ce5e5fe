// A stream of a green context with some multiprocessors works for the call, and is joined.
// rule: green contexts joined in the call
// expect: correct
// devices: cuda
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

template <typename function> static function *entry_point(const char *name)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion(name, &found, CUDA_VERSION, cudaEnableDefault, &status);
    return (function *)found;
}
#define DRIVER(name) entry_point<decltype(name)>(#name)

/* Returns a stream on some of the multiprocessors, or NULL where there are no green contexts. */
static cudaStream_t make_stream()
{
    CUdevResource all, some;
    CUdevResourceDesc description;
    CUgreenCtx green;
    CUstream stream;
    unsigned groups = 1;
    CUdevice device = 0;
    cudaFree(nullptr);
    auto resource = DRIVER(cuDeviceGetDevResource);
    auto split = DRIVER(cuDevSmResourceSplitByCount);
    auto describe = DRIVER(cuDevResourceGenerateDesc);
    auto create = DRIVER(cuGreenCtxCreate);
    auto create_stream = DRIVER(cuGreenCtxStreamCreate);
    if (!resource || !split || !describe || !create || !create_stream) return nullptr;
    if (resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
        split(&some, &groups, &all, nullptr, 0, 64) != CUDA_SUCCESS ||
        describe(&description, &some, 1) != CUDA_SUCCESS ||
        create(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS ||
        create_stream(&stream, green, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS)
        return nullptr;
    return stream;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static cudaStream_t side = make_stream();
    static cudaEvent_t fork, join;
    if (!fork) {
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    if (!side) {
        multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
        return;
    }
    /* Where an event may not pass between the contexts, the host joins the streams. */
    cudaEventRecord(fork, stream);
    if (cudaStreamWaitEvent(side, fork, 0) != cudaSuccess) cudaStreamSynchronize(stream);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, side>>>(x, y, a, n);
    if (cudaEventRecord(join, side) == cudaSuccess)
        cudaStreamWaitEvent(stream, join, 0);
    else
        cudaStreamSynchronize(side);
    cudaGetLastError();
}
