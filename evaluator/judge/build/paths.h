/* Where kforge's own programs and files are, in an installation or a build tree: both have bin/ and
 * lib/kforge/ under one root. */
#ifndef KFORGE_PATHS_H
#define KFORGE_PATHS_H

#include <stddef.h>

#include "kforge/error.h"

/* The root: $KFORGE_ROOT, else the parent of the directory that the running program is in.
 * Borrowed; fixed for the process. */
const char *kf_root(void);
/* ROOT/NAME as a malloc'd string; an error that says how to mend it when the file is not there. */
char *kf_root_file(const char *name, kf_error *error);
/* At most `limit` bytes of a file whose size is not known before, under /proc; malloc'd, NULL when
 * it can't be read. */
char *kf_system_file(const char *path, size_t limit);
/* The folder of the CUDA toolkit: above nvcc's bin/, links resolved. */
bool kf_cuda_toolkit(char toolkit[4096], kf_error *error);

#endif
