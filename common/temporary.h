/* Within base: what file.c has to tell temporary.c. */
#ifndef KFORGE_BASE_TEMPORARY_H
#define KFORGE_BASE_TEMPORARY_H

/* `path` is removed: if it was made by kf_directory_temporary its lock is given back. */
void kf_temporary_forget(const char *path);

#endif
