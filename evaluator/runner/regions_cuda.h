/* The judge's allocations in a runner's address space: each comes as a descriptor, is imported once
 * and mapped between two unmapped granules. */
#ifndef KFORGE_REGIONS_CUDA_H
#define KFORGE_REGIONS_CUDA_H

#include "driver_cuda.h"

#define KF_REGION_GRANULE (2u << 20) /* unmapped on both sides */

typedef struct kf_region {
    cu_handle handle;
    cu_pointer reserved, base;
    size_t size;
} kf_region;

/* Where a region had best lie and what may be done with it. */
typedef struct kf_region_wish {
    size_t size;
    cu_pointer address; /* of what is reserved, the first unmapped granule with it */
    bool read_only;
} kf_region_wish;

/* True when the driver did it; else `what` and the driver's words have gone to standard error. */
bool kf_cuda_said(const kf_cuda *cuda, cu_result result, const char *what);
/* The descriptor stays the caller's. */
bool kf_region_import(const kf_cuda *cuda, kf_region *r, const kf_region_wish *wish, int fd);
void kf_region_drop(const kf_cuda *cuda, kf_region *r);

#endif
