/* Files of this machine. include/kforge/installation.h has kforge's own files. */
#ifndef KFORGE_PATHS_H
#define KFORGE_PATHS_H

#include <stddef.h>

#include "kforge/installation.h"

/* Reads at most `limit` bytes of a file of unknown size, under /proc. NULL if unreadable. The
 * caller frees the text. */
char *kf_system_file(const char *path, size_t limit);
/* Finds the folder of the CUDA toolkit: the parent of nvcc's bin/, with links resolved. */
bool kf_cuda_toolkit(char toolkit[4096], kf_error *error);
/* Finds the include folder of CUTLASS and CuTe, with links resolved: only $KFORGE_CUTLASS if it is
 * set, else the system's places and the Python package nvidia-cutlass. */
bool kf_cutlass_headers(char folder[4096], kf_error *error);
/* True for a folder that compilers search without an option. As an option of its own, -isystem, it
 * comes too early for the C++ library's #include_next. */
bool kf_compiler_includes(const char *folder);

#endif
