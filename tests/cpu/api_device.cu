// What the device says of itself.
#include <string.h>
#include <cuda_profiler_api.h>
#include "check.h"

int main()
{
    int count, device = -1, value, version;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    OK(cudaSetDevice(0));
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(1));
    cudaDeviceProp prop;
    OK(cudaGetDeviceProperties(&prop, 0));
    CHECK(strcmp(prop.name, "kforge CPU device") == 0);
    CHECK(prop.major == 8 && prop.minor == 6 && prop.warpSize == 32 && prop.maxThreadsPerBlock == 1024);
    CHECK(prop.sharedMemPerBlock == 48 * 1024 && prop.sharedMemPerBlockOptin >= 99 * 1024 && prop.regsPerBlock == 65536);
    CHECK(prop.multiProcessorCount >= 1 && prop.totalGlobalMem > 0 && prop.l2CacheSize > 0);
    struct {
        cudaDeviceAttr attribute;
        int value;
    } pairs[] = {{cudaDevAttrMaxThreadsPerBlock, prop.maxThreadsPerBlock},
                 {cudaDevAttrMultiProcessorCount, prop.multiProcessorCount},
                 {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)prop.sharedMemPerBlockOptin},
                 {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)prop.sharedMemPerMultiprocessor},
                 {cudaDevAttrWarpSize, 32},
                 {cudaDevAttrCooperativeLaunch, 1},
                 {cudaDevAttrComputeCapabilityMajor, 8},
                 {cudaDevAttrComputeCapabilityMinor, 6},
                 {cudaDevAttrL2CacheSize, prop.l2CacheSize},
                 {cudaDevAttrMaxBlockDimZ, prop.maxThreadsDim[2]},
                 {cudaDevAttrMemoryPoolsSupported, 1},
                 {cudaDevAttrClusterLaunch, 0}};
    for (auto &pair : pairs) {
        OK(cudaDeviceGetAttribute(&value, pair.attribute, 0));
        CHECK(value == pair.value);
    }
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 3));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (cudaDeviceAttr)100000, 0));
    OK(cudaDriverGetVersion(&version));
    CHECK(version == 13000);
    OK(cudaRuntimeGetVersion(&version));
    size_t limit;
    OK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20));
    OK(cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize));
    CHECK(limit == 1 << 20);
    OK(cudaCtxResetPersistingL2Cache());
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
    OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    int can = 1;
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    CHECK(can == 0);
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
    char bus[16];
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    return 0;
}
