// Allocation of all kinds, what pointers are, and the census of what is not freed.
#include "check.h"

int main()
{
    size_t before = kfcpu_live_allocations();
    float *device, *host, *mapped, *managed, *other;
    OK(cudaMalloc(&device, 1000));
    OK(cudaMallocHost(&host, 1000));
    OK(cudaHostAlloc(&mapped, 1000, cudaHostAllocMapped));
    OK(cudaMallocManaged(&managed, 1000));
    CHECK((size_t)device % 256 == 0);
    CHECK(kfcpu_live_allocations() == before + 4);

    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, device + 3));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == device + 3 && attributes.device == 0);
    OK(cudaPointerGetAttributes(&attributes, managed));
    CHECK(attributes.type == cudaMemoryTypeManaged);
    OK(cudaPointerGetAttributes(&attributes, host));
    CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == host);
    int local;
    OK(cudaPointerGetAttributes(&attributes, &local));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaHostGetDevicePointer(&other, mapped, 0));
    CHECK(other == mapped);
    unsigned flags;
    OK(cudaHostGetFlags(&flags, mapped));
    CHECK(flags == cudaHostAllocMapped);

    static char registered[4096];
    OK(cudaHostRegister(registered, sizeof registered, cudaHostRegisterDefault));
    EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(registered, 100, cudaHostRegisterDefault));
    OK(cudaHostUnregister(registered));
    EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(registered));

    float *pitched;
    size_t pitch;
    OK(cudaMallocPitch(&pitched, &pitch, 100, 7));
    CHECK(pitch >= 100 && pitch % 32 == 0);
    cudaPitchedPtr volume;
    OK(cudaMalloc3D(&volume, make_cudaExtent(33, 5, 4)));
    CHECK(volume.pitch >= 33 && volume.xsize == 33 && volume.ysize == 5);

    cudaMemLocation location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPrefetchAsync(managed, 1000, location, 0, 0));
    OK(cudaMemAdvise(managed, 1000, cudaMemAdviseSetReadMostly, location));
#if CUDART_VERSION < 13000 // the older signatures
    OK(cudaMemPrefetchAsync(managed, 1000, 0, 0));
    OK(cudaMemAdvise(managed, 1000, cudaMemAdviseSetReadMostly, 0));
#endif
    size_t free_bytes, total;
    OK(cudaMemGetInfo(&free_bytes, &total));
    CHECK(free_bytes > 0 && free_bytes <= total);

    OK(cudaMalloc(&other, 0));
    CHECK(other == nullptr);
    OK(cudaFree(nullptr));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&other, (size_t)1 << 60));
    EXPECT(cudaErrorInvalidValue, cudaMalloc((void **)nullptr, 10));
    EXPECT(cudaErrorInvalidValue, cudaFree(&local));
    EXPECT(cudaErrorInvalidValue, cudaFree(host));
    OK(cudaFree(device));
    EXPECT(cudaErrorInvalidValue, cudaFree(device));
    OK(cudaFreeHost(host));
    OK(cudaFreeHost(mapped));
    OK(cudaFree(managed));
    OK(cudaFree(pitched));
    OK(cudaFree(volume.ptr));
    CHECK(kfcpu_live_allocations() == before);
    return 0;
}
