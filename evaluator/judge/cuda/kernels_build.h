/* Compiles the judge's kernels. Their text is a part of this program. */
#ifndef KFORGE_KERNELS_BUILD_H
#define KFORGE_KERNELS_BUILD_H

#include "driver_tools.h"

/* kernels.cu and the headers it includes, with an empty row at the end. */
extern const kf_source_file kf_kernel_files[];

/* Returns the cubin for a device of this compute capability, from the folder `cache` (may be NULL)
 * or from NVRTC. A new cubin goes to the cache. The caller frees it. */
char *kf_kernels_image(const char *cache, int major, int minor, size_t *size, kf_error *error);

#endif
