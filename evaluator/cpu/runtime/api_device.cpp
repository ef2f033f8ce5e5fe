// The only device, with the limits of compute capability 8.6 and this machine's cores, caches and
// memory.
#include "api_internal.h"

#include <string.h>
#include <unistd.h>

#include "kfcpu/exec.h"

using namespace kfcpu_api;

namespace
{
unsigned device_flags;
cudaFuncCache cache_config;
cudaSharedMemConfig shared_config = cudaSharedMemBankSizeFourByte;
size_t limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0}; // indexed by enum cudaLimit

int cache_size()
{
    long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (size <= 0) size = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return size > 0 && size < 0x7fffffff ? int(size) : 4 << 20;
}

void describe(cudaDeviceProp *prop)
{
    *prop = cudaDeviceProp{};
    strcpy(prop->name, "kforge CPU device");
    memcpy(prop->uuid.bytes, "kforge-cpu-dev-0", sizeof prop->uuid.bytes);
    prop->totalGlobalMem = size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE));
    prop->sharedMemPerBlock = kfcpu_limits.shared_per_block;
    prop->sharedMemPerBlockOptin = kfcpu_limits.shared_per_block_optin;
    prop->sharedMemPerMultiprocessor = kfcpu_limits.shared_per_sm;
    prop->reservedSharedMemPerBlock = 1024;
    prop->regsPerBlock = prop->regsPerMultiprocessor = 65536;
    prop->warpSize = KFCPU_WARP;
    prop->memPitch = 0x7fffffff;
    prop->maxThreadsPerBlock = kfcpu_limits.threads_per_block;
    prop->maxThreadsPerMultiProcessor = kfcpu_limits.threads_per_sm;
    prop->maxBlocksPerMultiProcessor = kfcpu_limits.blocks_per_sm;
    for (int i = 0; i < 3; i++) {
        prop->maxThreadsDim[i] = int(kfcpu_limits.block[i]);
        prop->maxGridSize[i] = int(kfcpu_limits.grid[i]);
    }
    prop->totalConstMem = 64 << 10;
    prop->major = 8;
    prop->minor = 6;
    prop->textureAlignment = 512;
    prop->texturePitchAlignment = 32;
    prop->multiProcessorCount = kfcpu_thread_count();
    prop->integrated = prop->canMapHostMemory = prop->unifiedAddressing = prop->managedMemory = 1;
    prop->concurrentKernels = prop->streamPrioritiesSupported = prop->cooperativeLaunch =
        prop->memoryPoolsSupported = 1;
    prop->hostRegisterSupported = prop->canUseHostPointerForRegisteredMem =
        prop->hostNativeAtomicSupported = 1;
    prop->pageableMemoryAccess = prop->concurrentManagedAccess =
        prop->pageableMemoryAccessUsesHostPageTables = 1;
    prop->directManagedMemAccessFromHost = prop->unifiedFunctionPointers =
        prop->globalL1CacheSupported = prop->localL1CacheSupported = 1;
    prop->asyncEngineCount = 1;
    prop->clockRate = 1000000;
    prop->memoryClockRate = 1600000;
    prop->memoryBusWidth = 128;
    prop->l2CacheSize = cache_size();
    prop->persistingL2CacheMaxSize = prop->accessPolicyMaxWindowSize = 0;
    prop->singleToDoublePrecisionPerfRatio = 2;
}

bool attribute_of(const cudaDeviceProp &prop, cudaDeviceAttr attribute, int *value)
{
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = prop.maxThreadsPerBlock; return true;
    case cudaDevAttrMaxBlockDimX: *value = prop.maxThreadsDim[0]; return true;
    case cudaDevAttrMaxBlockDimY: *value = prop.maxThreadsDim[1]; return true;
    case cudaDevAttrMaxBlockDimZ: *value = prop.maxThreadsDim[2]; return true;
    case cudaDevAttrMaxGridDimX: *value = prop.maxGridSize[0]; return true;
    case cudaDevAttrMaxGridDimY: *value = prop.maxGridSize[1]; return true;
    case cudaDevAttrMaxGridDimZ: *value = prop.maxGridSize[2]; return true;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(prop.sharedMemPerBlock); return true;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = int(prop.sharedMemPerBlockOptin);
        return true;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = int(prop.sharedMemPerMultiprocessor);
        return true;
    case cudaDevAttrReservedSharedMemoryPerBlock:
        *value = int(prop.reservedSharedMemPerBlock);
        return true;
    case cudaDevAttrTotalConstantMemory: *value = int(prop.totalConstMem); return true;
    case cudaDevAttrWarpSize: *value = prop.warpSize; return true;
    case cudaDevAttrMaxPitch: *value = int(prop.memPitch); return true;
    case cudaDevAttrMaxRegistersPerBlock: *value = prop.regsPerBlock; return true;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = prop.regsPerMultiprocessor; return true;
    case cudaDevAttrClockRate: *value = prop.clockRate; return true;
    case cudaDevAttrMemoryClockRate: *value = prop.memoryClockRate; return true;
    case cudaDevAttrGlobalMemoryBusWidth: *value = prop.memoryBusWidth; return true;
    case cudaDevAttrTextureAlignment: *value = int(prop.textureAlignment); return true;
    case cudaDevAttrTexturePitchAlignment: *value = int(prop.texturePitchAlignment); return true;
    case cudaDevAttrMultiProcessorCount: *value = prop.multiProcessorCount; return true;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = prop.maxThreadsPerMultiProcessor;
        return true;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
        *value = prop.maxBlocksPerMultiProcessor;
        return true;
    case cudaDevAttrL2CacheSize: *value = prop.l2CacheSize; return true;
    case cudaDevAttrMaxPersistingL2CacheSize: *value = prop.persistingL2CacheMaxSize; return true;
    case cudaDevAttrMaxAccessPolicyWindowSize: *value = prop.accessPolicyMaxWindowSize; return true;
    case cudaDevAttrComputeCapabilityMajor: *value = prop.major; return true;
    case cudaDevAttrComputeCapabilityMinor: *value = prop.minor; return true;
    case cudaDevAttrAsyncEngineCount: *value = prop.asyncEngineCount; return true;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
        *value = prop.singleToDoublePrecisionPerfRatio;
        return true;
    case cudaDevAttrIntegrated:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrMemoryPoolsSupported: *value = 1; return true;
    /* Textures and other features that the device does not have. */
    default: *value = 0; return attribute >= 1 && attribute < cudaDevAttrMax;
    }
}
} // namespace

cudaError_t cudaGetDeviceCount(int *count)
{
    return entry([&] {
        if (!count) return cudaErrorInvalidValue;
        *count = 1;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDevice(int *device)
{
    return entry([&] {
        if (!device) return cudaErrorInvalidValue;
        *device = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device)
{
    return entry([&] { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int)
{
    return cudaSetDevice(device);
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    return entry([&] {
        if (flags & ~0x1fu) return cudaErrorInvalidValue;
        device_flags = flags;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    return entry([&] {
        if (!flags) return cudaErrorInvalidValue;
        *flags = device_flags | cudaDeviceMapHost;
        return cudaSuccess;
    });
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    return prop ? cudaGetDevice(device) : note(cudaErrorInvalidValue);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    return entry([&] {
        if (!prop) return cudaErrorInvalidValue;
        if (device != 0) return cudaErrorInvalidDevice;
        describe(prop);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    return entry([&] {
        if (!value) return cudaErrorInvalidValue;
        if (device != 0) return cudaErrorInvalidDevice;
        static const cudaDeviceProp prop = [] {
            cudaDeviceProp made;
            describe(&made);
            return made;
        }();
        return attribute_of(prop, attribute, value) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaDeviceGetP2PAttribute(int *, enum cudaDeviceP2PAttr, int, int)
{
    return note(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device)
{
    return entry([&] {
        static const char id[] = "0000:00:00.0";
        if (device != 0) return cudaErrorInvalidDevice;
        if (!text || length < int(sizeof id)) return cudaErrorInvalidValue;
        memcpy(text, id, sizeof id);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize(void)
{
    return entry([] { return refuse_during_capture(); });
}

cudaError_t cudaThreadSynchronize(void)
{
    return cudaDeviceSynchronize();
}

cudaError_t cudaDeviceReset(void)
{
    release_all();
    mend_context();
    return cudaSuccess;
}

cudaError_t cudaThreadExit(void)
{
    return cudaDeviceReset();
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    return entry([&] {
        if (limit < 0 || size_t(limit) >= sizeof limits / sizeof *limits)
            return cudaErrorUnsupportedLimit;
        guard hold(state);
        limits[limit] = value;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    return entry([&] {
        if (limit < 0 || size_t(limit) >= sizeof limits / sizeof *limits)
            return cudaErrorUnsupportedLimit;
        if (!value) return cudaErrorInvalidValue;
        guard hold(state);
        *value = limits[limit];
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    return entry([&] {
        cache_config = config;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    return entry([&] {
        if (!config) return cudaErrorInvalidValue;
        *config = cache_config;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    return entry([&] {
        shared_config =
            config == cudaSharedMemBankSizeDefault ? cudaSharedMemBankSizeFourByte : config;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
    return entry([&] {
        if (!config) return cudaErrorInvalidValue;
        *config = shared_config;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return entry([&] {
        if (least) *least = 0;
        if (greatest) *greatest = -5;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    return entry([&] {
        if (!can) return cudaErrorInvalidValue;
        if (device != 0 || peer != 0) return cudaErrorInvalidDevice;
        *can = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int)
{
    return note(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    return note(peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice);
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    return entry([] { return cudaSuccess; });
}

cudaError_t cudaProfilerStart(void)
{
    return entry([] { return cudaSuccess; });
}

cudaError_t cudaProfilerStop(void)
{
    return entry([] { return cudaSuccess; });
}
