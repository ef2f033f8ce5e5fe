/* The installation around the library. */
#ifndef KFORGE_LIBRARY_ROOT_H
#define KFORGE_LIBRARY_ROOT_H

#include "kforge/error.h"

/* Returns the folder that holds bin/kforge: `given`, else a folder above the library. Malloc'd. */
char *kf_library_root(const char *given, kf_error *error);

#endif
