/* Files of this machine that the judge reads. Those of kforge's own: include/kforge/installation.h.
 */
#ifndef KFORGE_PATHS_H
#define KFORGE_PATHS_H

#include <stddef.h>

#include "kforge/installation.h"

/* At most `limit` bytes of a file whose size is not known before, under /proc; malloc'd, NULL when
 * it can't be read. */
char *kf_system_file(const char *path, size_t limit);
/* The folder of the CUDA toolkit: above nvcc's bin/, links resolved. */
bool kf_cuda_toolkit(char toolkit[4096], kf_error *error);

#endif
