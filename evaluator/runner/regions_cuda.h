/* Maps the judge's allocations into a runner. Each comes as a descriptor, is imported once, and is
 * mapped between two unmapped granules. */
#ifndef KFORGE_REGIONS_CUDA_H
#define KFORGE_REGIONS_CUDA_H

#include "driver_cuda.h"

#define KF_REGION_GRANULE (2u << 20) /* unmapped on both sides */

typedef struct kf_region {
    cu_handle handle;
    cu_pointer reserved, base;
    size_t size;
} kf_region;

/* The size, the wanted address and the access of a region. */
typedef struct kf_region_wish {
    size_t size;
    /* Of the reservation, with the first unmapped granule. */
    cu_pointer address;
    bool read_only;
} kf_region_wish;

/* True for CU_SUCCESS. Else prints `what` and the driver's message to standard error. */
bool kf_cuda_said(const kf_cuda *cuda, cu_result result, const char *what);
/* Imports and maps a region. The caller keeps the descriptor. */
bool kf_region_import(const kf_cuda *cuda, kf_region *r, const kf_region_wish *wish, int fd);
void kf_region_drop(const kf_cuda *cuda, kf_region *r);

#endif
