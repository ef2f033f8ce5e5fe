#include "regions_cuda.h"

#include <stdio.h>

bool kf_cuda_said(const kf_cuda *cuda, cu_result result, const char *what)
{
    if (result == CU_SUCCESS) return true;
    char words[256];
    kf_cuda_describe(cuda, result, words, sizeof words);
    fprintf(stderr, "kforge-runner-cuda: %s: %s\n", what, words);
    return false;
}

bool kf_region_import(const kf_cuda *cuda, kf_region *r, const kf_region_wish *wish, int fd)
{
    cu_access access = {.location = {.type = CU_LOCATION_DEVICE, .id = 0},
                        .flags = wish->read_only ? CU_ACCESS_READ : CU_ACCESS_READ_WRITE};
    size_t size = wish->size;
    if (!kf_cuda_said(cuda, cuda->handle_import(&r->handle, (void *)(intptr_t)fd, CU_HANDLE_POSIX),
                      "importing a buffer"))
        return false;
    if (!kf_cuda_said(cuda,
                      cuda->address_reserve(&r->reserved, size + 2 * (size_t)KF_REGION_GRANULE, 0,
                                            wish->address, 0),
                      "reserving addresses"))
        return false;
    if (!kf_cuda_said(cuda, cuda->map(r->reserved + KF_REGION_GRANULE, size, 0, r->handle, 0),
                      "mapping a buffer"))
        return false;
    r->base = r->reserved + KF_REGION_GRANULE;
    r->size = size;
    return kf_cuda_said(cuda, cuda->set_access(r->base, size, &access, 1), "access to a buffer");
}

void kf_region_drop(const kf_cuda *cuda, kf_region *r)
{
    if (r->base) cuda->unmap(r->base, r->size);
    if (r->reserved) cuda->address_free(r->reserved, r->size + 2 * (size_t)KF_REGION_GRANULE);
    if (r->handle) cuda->handle_release(r->handle);
    *r = (kf_region){0};
}
