// Keeps a copy of one input in memory that it maps itself, and maps more as shapes grow.
// rule: virtual memory management
// expect: correct
// devices: cuda
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

template <typename function> static function *entry_point(const char *name)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion(name, &found, CUDA_VERSION, cudaEnableDefault, &status);
    return (function *)found;
}
#define DRIVER(name) entry_point<decltype(name)>(#name)

/* Maps `bytes` more at `at`. Returns the bytes that it mapped. */
static size_t map_more(CUdeviceptr at, size_t bytes)
{
    CUmemAllocationProp how = {};
    how.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    how.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {how.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    size_t unit = 0;
    CUmemGenericAllocationHandle memory;
    DRIVER(cuMemGetAllocationGranularity)(&unit, &how, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    bytes = (bytes + unit - 1) / unit * unit;
    DRIVER(cuMemCreate)(&memory, bytes, &how, 0);
    DRIVER(cuMemMap)(at, bytes, 0, memory, 0);
    DRIVER(cuMemRelease)(memory);
    DRIVER(cuMemSetAccess)(at, bytes, &access, 1);
    return bytes;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static CUdeviceptr arena;
    static size_t mapped;
    size_t bytes = n * sizeof(float);
    if (!arena) DRIVER(cuMemAddressReserve)(&arena, (size_t)1 << 30, 0, 0, 0);
    if (bytes > mapped) mapped += map_more(arena + mapped, bytes - mapped);
    cudaMemcpyAsync((void *)arena, x, bytes, cudaMemcpyDeviceToDevice, stream);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>((const float *)arena, y, z, n);
}
