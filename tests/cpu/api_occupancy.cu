// Function attributes and occupancy.
#include <string.h>
#include "check.h"

__global__ void plain(float *) {}
__global__ void __launch_bounds__(256, 2) bounded(float *x) { x[0] = 1; }
template <class T, int N> __global__ void __launch_bounds__(N * 32) templated(T *) {}

static size_t shared_of(int block) { return block * sizeof(float); }

int main()
{
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, plain));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0 && attributes.maxDynamicSharedSizeBytes == 48 * 1024);
    OK(cudaFuncGetAttributes(&attributes, bounded));
    CHECK(attributes.maxThreadsPerBlock == 256);
    OK(cudaFuncGetAttributes(&attributes, (const void *)templated<float, 4>));
    CHECK(attributes.maxThreadsPerBlock == 128);
    OK(cudaFuncSetAttribute(templated<float, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 80000));
    OK(cudaFuncGetAttributes(&attributes, templated<float, 4>));
    CHECK(attributes.maxDynamicSharedSizeBytes == 80000);
    OK(cudaFuncGetAttributes(&attributes, templated<float, 8>)); // another instance, its own attributes
    CHECK(attributes.maxDynamicSharedSizeBytes == 48 * 1024);
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
    OK(cudaFuncSetCacheConfig(plain, cudaFuncCachePreferL1));
    const char *name;
    OK(cudaFuncGetName(&name, (const void *)bounded));
    CHECK(strstr(name, "bounded"));
    EXPECT(cudaErrorInvalidResourceHandle, cudaFuncGetAttributes(&attributes, (const void *)shared_of));

    int blocks, many, grid, block, largest;
    OK(cudaDeviceGetAttribute(&largest, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 256, 0));
    CHECK(blocks >= 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&many, plain, 32, 0, cudaOccupancyDefault));
    CHECK(many >= blocks);
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, largest));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 256, largest));
    CHECK(blocks == 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 2048, 0));
    CHECK(blocks == 0);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain));
    CHECK(grid >= 1 && block >= 32 && block <= 1024 && block % 32 == 0);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 1024, 128));
    CHECK(block <= 128);
    OK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, plain, shared_of));
    CHECK(block >= 32);
    size_t available;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&available, plain, 2, 128));
    CHECK(available > 0 && available <= (size_t)largest);
    return 0;
}
