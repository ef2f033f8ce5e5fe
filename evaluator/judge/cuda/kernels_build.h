/* From the text of the judge's kernels, which is part of this program, to machine code. */
#ifndef KFORGE_KERNELS_BUILD_H
#define KFORGE_KERNELS_BUILD_H

#include "driver_tools.h"

/* kernels.cu and the headers it includes; ends with an empty row. */
extern const kf_source_file kf_kernel_files[];

/* The cubin for a device of this compute capability: from `cache` (a folder; NULL: none) where it
 * is, else from NVRTC, and then kept there. */
char *kf_kernels_image(const char *cache, int major, int minor, size_t *size, kf_error *error);

#endif
