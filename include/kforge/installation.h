/* Where kforge's own programs and files are, in an installation or a build folder: both have bin/,
 * lib/kforge/ and share/kforge/ under one root. */
#ifndef KFORGE_INSTALLATION_H
#define KFORGE_INSTALLATION_H

#include "kforge/error.h"

/* Returns $KFORGE_ROOT, else the parent of the folder that the running program is in. Borrowed;
 * fixed for the process. */
const char *kf_root(void);
/* Returns ROOT/NAME as a malloc'd string; where the file is missing, NULL and an error that says
 * how to mend it. */
char *kf_root_file(const char *name, kf_error *error);

#endif
