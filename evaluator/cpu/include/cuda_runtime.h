// The runtime API with its C++ additions, and everything that nvcc provides without an #include:
// built-in variables, device functions, mathematics.
#pragma once
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cuda_runtime_api.h"
#include "kfcpu/guards.h"
#include "kfcpu_stub.h"
#if __has_include("kfcpu/device.h")
#include "kfcpu/device.h"
#endif

// kforge-cpucc defines it for candidates that compile with it.
#undef __CUDA_ARCH__
#undef __global__
#define __global__ KFCPU_KERNEL

template <class T> inline cudaError_t cudaMalloc(T **pointer, size_t size)
{
    return ::cudaMalloc(reinterpret_cast<void **>(pointer), size);
}
template <class T>
inline cudaError_t cudaMallocHost(T **pointer, size_t size, unsigned int flags = 0)
{
    return ::cudaHostAlloc(reinterpret_cast<void **>(pointer), size, flags);
}
inline cudaError_t cudaMallocHost(void **pointer, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc(pointer, size, flags);
}
template <class T> inline cudaError_t cudaHostAlloc(T **pointer, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc(reinterpret_cast<void **>(pointer), size, flags);
}
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags)
{
    return ::cudaHostGetDevicePointer(reinterpret_cast<void **>(device), host, flags);
}
inline cudaError_t cudaMallocManaged(void **pointer, size_t size)
{
    return ::cudaMallocManaged(pointer, size, cudaMemAttachGlobal);
}
template <class T>
inline cudaError_t cudaMallocManaged(T **pointer, size_t size,
                                     unsigned int flags = cudaMemAttachGlobal)
{
    return ::cudaMallocManaged(reinterpret_cast<void **>(pointer), size, flags);
}
template <class T>
inline cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height)
{
    return ::cudaMallocPitch(reinterpret_cast<void **>(pointer), pitch, width, height);
}
template <class T> inline cudaError_t cudaMallocAsync(T **pointer, size_t size, cudaStream_t stream)
{
    return ::cudaMallocAsync(reinterpret_cast<void **>(pointer), size, stream);
}
template <class T>
inline cudaError_t cudaMallocAsync(T **pointer, size_t size, cudaMemPool_t pool,
                                   cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(reinterpret_cast<void **>(pointer), size, pool, stream);
}
template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T **pointer, size_t size, cudaMemPool_t pool,
                                           cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(reinterpret_cast<void **>(pointer), size, pool, stream);
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags = cudaEventDefault)
{
    return ::cudaEventCreateWithFlags(event, flags);
}

// A symbol is the variable itself: __device__ and __constant__ objects are in ordinary memory.
template <class T> inline cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol)
{
    if (!pointer) return cudaErrorInvalidValue;
    *pointer = const_cast<void *>(reinterpret_cast<const volatile void *>(
        &const_cast<char &>(reinterpret_cast<const volatile char &>(symbol))));
    return cudaSuccess;
}
template <class T> inline cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
    if (!size) return cudaErrorInvalidValue;
    *size = sizeof symbol;
    return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t count,
                                           size_t offset = 0,
                                           enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                           cudaStream_t stream = nullptr)
{
    void *to;
    cudaGetSymbolAddress(&to, symbol);
    // An invalid argument, which the copy reports.
    if (offset > sizeof symbol || count > sizeof symbol - offset) to = nullptr;
    return ::cudaMemcpyAsync(to ? static_cast<char *>(to) + offset : nullptr, from, count, kind,
                             stream);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t count,
                                      size_t offset = 0,
                                      enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return cudaMemcpyToSymbolAsync(symbol, from, count, offset, kind, nullptr);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t count,
                                             size_t offset = 0,
                                             enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t stream = nullptr)
{
    void *from;
    cudaGetSymbolAddress(&from, symbol);
    if (offset > sizeof symbol || count > sizeof symbol - offset) from = nullptr;
    return ::cudaMemcpyAsync(to, from ? static_cast<char *>(from) + offset : nullptr, count, kind,
                             stream);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t count, size_t offset = 0,
                                        enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return cudaMemcpyFromSymbolAsync(to, symbol, count, offset, kind, nullptr);
}

// Kernels with their own type.
template <class T> inline const void *kfcpu_address(T *kernel)
{
    return reinterpret_cast<const void *>(kernel);
}
template <class T>
inline cudaError_t cudaLaunchKernel(T *kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared = 0, cudaStream_t stream = nullptr)
{
    return ::cudaLaunchKernel(kfcpu_address(kernel), grid, block, arguments, shared, stream);
}
template <class T>
inline cudaError_t cudaLaunchCooperativeKernel(T *kernel, dim3 grid, dim3 block, void **arguments,
                                               size_t shared = 0, cudaStream_t stream = nullptr)
{
    return ::cudaLaunchCooperativeKernel(kfcpu_address(kernel), grid, block, arguments, shared,
                                         stream);
}
template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
                                      A &&...a)
{
    static_assert(sizeof...(P) == sizeof...(A),
                  "the launch passes another number of arguments than the kernel takes");
    return [&](std::decay_t<P>... each) {
        void *pointers[] = {static_cast<void *>(&each)..., nullptr};
        return ::cudaLaunchKernelExC(config, kfcpu_address(kernel), pointers);
    }(std::forward<A>(a)...);
}
template <class T>
inline cudaError_t cudaFuncSetAttribute(T *kernel, enum cudaFuncAttribute attribute, int value)
{
    return ::cudaFuncSetAttribute(kfcpu_address(kernel), attribute, value);
}
template <class T>
inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, T *kernel)
{
    return ::cudaFuncGetAttributes(attributes, kfcpu_address(kernel));
}
template <class T> inline cudaError_t cudaFuncSetCacheConfig(T *kernel, enum cudaFuncCache config)
{
    return ::cudaFuncSetCacheConfig(kfcpu_address(kernel), config);
}
template <class T>
inline cudaError_t cudaFuncSetSharedMemConfig(T *kernel, enum cudaSharedMemConfig config)
{
    return ::cudaFuncSetSharedMemConfig(kfcpu_address(kernel), config);
}
template <class T>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T kernel, int threads,
                                                                 size_t shared)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kfcpu_address(kernel), threads,
                                                           shared);
}
template <class T>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T kernel,
                                                                          int threads,
                                                                          size_t shared,
                                                                          unsigned int flags)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kfcpu_address(kernel),
                                                                    threads, shared, flags);
}
template <class T>
inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, T *kernel, int blocks,
                                                             int threads)
{
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(shared, kfcpu_address(kernel), blocks,
                                                       threads);
}

// Returns the block size with the most resident threads. Tries sizes from the largest downwards in
// steps of a warp, as the toolkit documents.
template <class SharedOfBlock, class T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int *grid, int *block, T kernel, SharedOfBlock shared, int limit = 0, unsigned int = 0)
{
    if (!grid || !block) return cudaErrorInvalidValue;
    cudaFuncAttributes attributes;
    cudaError_t error = ::cudaFuncGetAttributes(&attributes, kfcpu_address(kernel));
    int processors = 1, best = 0;
    if (error == cudaSuccess)
        error = ::cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    if (error != cudaSuccess) return error;
    int largest =
        limit > 0 && limit < attributes.maxThreadsPerBlock ? limit : attributes.maxThreadsPerBlock;
    for (int rounded = (largest + 31) / 32 * 32; rounded > 0; rounded -= 32) {
        int threads = rounded < largest ? rounded : largest, blocks = 0;
        error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kfcpu_address(kernel),
                                                                threads, size_t(shared(threads)));
        if (error != cudaSuccess) return error;
        if (blocks * threads > best) {
            best = blocks * threads;
            *block = threads;
            *grid = blocks * processors;
        }
    }
    return best ? cudaSuccess : cudaErrorInvalidConfiguration;
}
template <class SharedOfBlock, class T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, T kernel,
                                                                  SharedOfBlock shared,
                                                                  int limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid, block, kernel, shared,
                                                                   limit);
}
template <class T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, T kernel,
                                                      size_t shared = 0, int limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        grid, block, kernel, [shared](int) { return shared; }, limit);
}
template <class T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, T kernel,
                                                               size_t shared = 0, int limit = 0,
                                                               unsigned int flags = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        grid, block, kernel, [shared](int) { return shared; }, limit, flags);
}

static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *pointer, size_t pitch, size_t xsize,
                                                        size_t ysize)
{
    return cudaPitchedPtr{pointer, pitch, xsize, ysize};
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    return cudaPos{x, y, z};
}
static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    return cudaExtent{width, height, depth};
}
