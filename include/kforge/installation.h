/* Where kforge's own programs and files are, in an installation or a build folder: both have bin/,
 * lib/kforge/ and share/kforge/ under one root. */
#ifndef KFORGE_INSTALLATION_H
#define KFORGE_INSTALLATION_H

#include "kforge/error.h"

/* Sets the root for programs that use libkforge, before the first call of kf_root. Later calls do
 * nothing. $KFORGE_ROOT is stronger. */
void kf_root_set(const char *path);
/* Returns $KFORGE_ROOT, else the parent of the folder that the running program is in. Borrowed;
 * fixed for the process. */
const char *kf_root(void);
/* Returns ROOT/NAME, which the caller frees. NULL if the file is missing; the error says what to
 * do. */
char *kf_root_file(const char *name, kf_error *error);

#endif
