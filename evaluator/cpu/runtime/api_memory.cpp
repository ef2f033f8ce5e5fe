// Memory: all kinds of allocations are ordinary memory, listed in one table.
#include "api_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

using namespace kfcpu_api;

struct CUmemPoolHandle_st {
    uint64_t release_threshold = 0;
    int reuse[4] = {0, 1, 1, 1};
};

namespace
{
// Never destroyed, like the other tables. Destructors of candidates may still call, and leak
// checkers find the memory in use here.
auto &table = *new std::map<uintptr_t, allocation>; // by address, guarded by `state`
CUmemPoolHandle_st default_pool;
auto &pools = *new std::unordered_set<cudaMemPool_t>;
cudaMemPool_t current_pool = &default_pool;

bool is_pool_locked(cudaMemPool_t pool)
{
    return pool == &default_pool || pools.count(pool);
}

std::map<uintptr_t, allocation>::iterator find_locked(const void *pointer)
{
    auto next = table.upper_bound(reinterpret_cast<uintptr_t>(pointer));
    if (next == table.begin()) return table.end();
    --next;
    return reinterpret_cast<uintptr_t>(pointer) - next->first < next->second.size ? next
                                                                                  : table.end();
}

constexpr unsigned device_types = 1u << cudaMemoryTypeDevice | 1u << cudaMemoryTypeManaged;
constexpr unsigned host_types = 1u << cudaMemoryTypeHost;
} // namespace

namespace kfcpu_api
{

cudaError_t allocate(void **pointer, size_t size, cudaMemoryType type, unsigned flags, bool graph)
{
    if (!pointer) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (size == 0) return cudaSuccess;
    void *memory = nullptr;
    if (size > SIZE_MAX / 2 || posix_memalign(&memory, 256, size) != 0)
        return cudaErrorMemoryAllocation;
    guard hold(state);
    table[reinterpret_cast<uintptr_t>(memory)] = allocation{size, type, flags, false, graph};
    *pointer = memory;
    return cudaSuccess;
}

bool release(void *pointer, unsigned types, bool graph)
{
    {
        guard hold(state);
        auto found = table.find(reinterpret_cast<uintptr_t>(pointer));
        if (found == table.end() || !(types >> found->second.type & 1) || found->second.registered)
            return false;
        if (found->second.graph && !graph) return true; /* freed with its graph */
        table.erase(found);
    }
    free(pointer);
    return true;
}

void release_all()
{
    std::vector<void *> all;
    {
        guard hold(state);
        for (auto &entry : table)
            if (!entry.second.registered && !entry.second.graph)
                all.push_back(reinterpret_cast<void *>(entry.first));
        for (void *pointer : all) table.erase(reinterpret_cast<uintptr_t>(pointer));
    }
    for (void *pointer : all) free(pointer);
}

bool range_is_valid(const void *pointer, size_t size)
{
    guard hold(state);
    auto found = find_locked(pointer);
    return found == table.end() ||
           size <= found->second.size - (reinterpret_cast<uintptr_t>(pointer) - found->first);
}

} // namespace kfcpu_api

size_t kfcpu_live_allocations(void)
{
    guard hold(state);
    return table.size();
}

cudaError_t cudaMalloc(void **pointer, size_t size)
{
    return entry([&] {
        cudaError_t error = refuse_during_capture();
        return error != cudaSuccess ? error : allocate(pointer, size, cudaMemoryTypeDevice, 0);
    });
}

cudaError_t cudaFree(void *pointer)
{
    return entry([&] {
        if (!pointer) return cudaSuccess;
        cudaError_t error = refuse_during_capture();
        if (error != cudaSuccess) return error;
        return release(pointer, device_types) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int flags)
{
    return entry([&] {
        if (flags & ~7u) return cudaErrorInvalidValue;
        cudaError_t error = refuse_during_capture();
        return error != cudaSuccess ? error : allocate(pointer, size, cudaMemoryTypeHost, flags);
    });
}

cudaError_t cudaMallocHost(void **pointer, size_t size)
{
    return cudaHostAlloc(pointer, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *pointer)
{
    return entry([&] {
        return !pointer || release(pointer, host_types) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags)
{
    return entry([&] {
        if (!pointer || !size) return cudaErrorInvalidValue;
        guard hold(state);
        if (find_locked(pointer) != table.end()) return cudaErrorHostMemoryAlreadyRegistered;
        table[reinterpret_cast<uintptr_t>(pointer)] =
            allocation{size, cudaMemoryTypeHost, flags, true, false};
        return cudaSuccess;
    });
}

cudaError_t cudaHostUnregister(void *pointer)
{
    return entry([&] {
        guard hold(state);
        auto found = table.find(reinterpret_cast<uintptr_t>(pointer));
        if (found == table.end() || !found->second.registered)
            return cudaErrorHostMemoryNotRegistered;
        table.erase(found);
        return cudaSuccess;
    });
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    return entry([&] {
        if (!device || flags) return cudaErrorInvalidValue;
        guard hold(state);
        auto found = find_locked(host);
        if (found == table.end() || found->second.type == cudaMemoryTypeDevice)
            return cudaErrorInvalidValue;
        *device = host;
        return cudaSuccess;
    });
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *pointer)
{
    return entry([&] {
        guard hold(state);
        auto found = find_locked(pointer);
        if (!flags || found == table.end() || found->second.type != cudaMemoryTypeHost)
            return cudaErrorInvalidValue;
        *flags = found->second.flags;
        return cudaSuccess;
    });
}

cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned int flags)
{
    return entry([&] {
        if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
            return cudaErrorInvalidValue;
        cudaError_t error = refuse_during_capture();
        return error != cudaSuccess ? error : allocate(pointer, size, cudaMemoryTypeManaged, flags);
    });
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    return entry([&] {
        if (!pointer || !pitch || width > SIZE_MAX / 4) return cudaErrorInvalidValue;
        *pitch = (width + 511) / 512 * 512;
        size_t size;
        if (__builtin_mul_overflow(*pitch, height, &size)) return cudaErrorMemoryAllocation;
        cudaError_t error = refuse_during_capture();
        return error != cudaSuccess ? error : allocate(pointer, size, cudaMemoryTypeDevice, 0);
    });
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
    if (!pitched) return note(cudaErrorInvalidValue);
    size_t rows;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return note(cudaErrorMemoryAllocation);
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width, rows);
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    return entry([&]() -> cudaError_t {
        if (!pointer) return cudaErrorInvalidValue;
        {
            guard hold(state);
            if (!is_pool_locked(pool)) return cudaErrorInvalidValue;
            if (!find_stream_locked(stream)) return cudaErrorInvalidResourceHandle;
        }
        if (!is_capturing(stream)) return allocate(pointer, size, cudaMemoryTypeDevice, 0);
        operation what;
        what.type = cudaGraphNodeTypeMemAlloc;
        cudaError_t error = allocate(pointer, size, cudaMemoryTypeDevice, 0, true);
        if (error != cudaSuccess) return error;
        what.memory = std::shared_ptr<void>(
            *pointer, [](void *memory) { release(memory, device_types, true); });
        what.allocation.bytesize = size;
        what.allocation.dptr = *pointer;
        return issue(stream, std::move(what));
    });
}

cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync(pointer, size, current_pool, stream);
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    return entry([&]() -> cudaError_t {
        {
            guard hold(state);
            if (!find_stream_locked(stream)) return cudaErrorInvalidResourceHandle;
        }
        if (!pointer) return cudaErrorInvalidValue;
        if (!is_capturing(stream))
            return release(pointer, device_types) ? cudaSuccess : cudaErrorInvalidValue;
        operation what;
        what.type = cudaGraphNodeTypeMemFree;
        what.freed = pointer;
        return issue(stream, std::move(what));
    });
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    return entry([&] {
        if (!free_bytes || !total_bytes) return cudaErrorInvalidValue;
        size_t page = size_t(sysconf(_SC_PAGESIZE));
        *total_bytes = size_t(sysconf(_SC_PHYS_PAGES)) * page;
        *free_bytes = size_t(sysconf(_SC_AVPHYS_PAGES)) * page;
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    return entry([&] {
        if (!attributes) return cudaErrorInvalidValue;
        *attributes = cudaPointerAttributes{};
        attributes->device = -2;
        guard hold(state);
        auto found = find_locked(pointer);
        if (found == table.end()) return cudaSuccess;
        attributes->type = found->second.type;
        attributes->device = 0;
        attributes->devicePointer = const_cast<void *>(pointer);
        if (found->second.type != cudaMemoryTypeDevice)
            attributes->hostPointer = const_cast<void *>(pointer);
        return cudaSuccess;
    });
}

cudaError_t cudaMemAdvise(const void *pointer, size_t size, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation)
{
    return entry([&] {
        bool valid = pointer && size && advice >= cudaMemAdviseSetReadMostly &&
                     advice <= cudaMemAdviseUnsetAccessedBy;
        return valid && range_is_valid(pointer, size) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, struct cudaMemLocation,
                                 unsigned int flags, cudaStream_t stream)
{
    return entry([&] {
        if (!pointer || !size || flags || !range_is_valid(pointer, size))
            return cudaErrorInvalidValue;
        guard hold(state);
        return find_stream_locked(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    });
}

// ---- Pools: names with attributes. All pools allocate from the heap.

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    return entry([&] {
        if (!pool || !properties) return cudaErrorInvalidValue;
        auto created = std::make_unique<CUmemPoolHandle_st>();
        guard hold(state);
        pools.insert(created.get());
        *pool = created.release();
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    return entry([&] {
        guard hold(state);
        if (!pools.erase(pool)) return cudaErrorInvalidValue;
        if (current_pool == pool) current_pool = &default_pool;
        delete pool;
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t)
{
    return entry([&] {
        guard hold(state);
        return is_pool_locked(pool) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    return entry([&] {
        guard hold(state);
        if (!is_pool_locked(pool) || !value) return cudaErrorInvalidValue;
        if (attribute >= cudaMemPoolReuseFollowEventDependencies &&
            attribute <= cudaMemPoolReuseAllowInternalDependencies)
            pool->reuse[attribute] = *static_cast<int *>(value);
        else if (attribute == cudaMemPoolAttrReleaseThreshold)
            pool->release_threshold = *static_cast<uint64_t *>(value);
        else if (attribute != cudaMemPoolAttrReservedMemHigh &&
                 attribute != cudaMemPoolAttrUsedMemHigh)
            return cudaErrorInvalidValue;
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    return entry([&] {
        guard hold(state);
        if (!is_pool_locked(pool) || !value) return cudaErrorInvalidValue;
        if (attribute >= cudaMemPoolReuseFollowEventDependencies &&
            attribute <= cudaMemPoolReuseAllowInternalDependencies)
            *static_cast<int *>(value) = pool->reuse[attribute];
        else if (attribute == cudaMemPoolAttrReleaseThreshold)
            *static_cast<uint64_t *>(value) = pool->release_threshold;
        else if (attribute >= cudaMemPoolAttrReservedMemCurrent &&
                 attribute <= cudaMemPoolAttrUsedMemHigh)
            *static_cast<uint64_t *>(value) = 0; /* no memory is kept in reserve */
        else
            return cudaErrorInvalidValue;
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
                                 size_t count)
{
    return entry([&] {
        guard hold(state);
        return is_pool_locked(pool) && (list || !count) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    return entry([&] {
        if (device != 0) return cudaErrorInvalidDevice;
        if (!pool) return cudaErrorInvalidValue;
        *pool = &default_pool;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    return entry([&] {
        if (device != 0) return cudaErrorInvalidDevice;
        if (!pool) return cudaErrorInvalidValue;
        guard hold(state);
        *pool = current_pool;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    return entry([&] {
        if (device != 0) return cudaErrorInvalidDevice;
        guard hold(state);
        if (!is_pool_locked(pool)) return cudaErrorInvalidValue;
        current_pool = pool;
        return cudaSuccess;
    });
}
