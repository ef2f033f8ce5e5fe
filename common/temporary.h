/* Locks of temporary folders, for file.c. */
#ifndef KFORGE_TEMPORARY_H
#define KFORGE_TEMPORARY_H

/* Releases the lock of `path`, if kf_directory_temporary made it. Called before it is removed. */
void kf_temporary_forget(const char *path);

#endif
