/* Whole files, safely: reads with a limit, writes that are there completely or not at all. Paths
 * are byte strings. */
#ifndef KFORGE_FILE_H
#define KFORGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"

/* Reads a whole regular file into a malloc'd, NUL-terminated buffer (*size may be NULL). Over
 * `limit` bytes: KF_ERROR_LIMIT. */
char *kf_file_read(const char *path, size_t limit, size_t *size, kf_error *error);
/* Writes through a temporary file beside `path`, fsync and rename: readers see the old or the new
 * content, never a part. */
bool kf_file_write(const char *path, const void *data, size_t size, kf_error *error);
/* Could kf_file_write write `path` once the folders above it are made? Tried beside it, or in the
 * nearest folder that is there, so that what would refuse it in the end refuses it now; nothing is
 * left behind, and what has the name stays as it is. KF_ERROR_INPUT: another place would do;
 * KF_ERROR_IO: the disk is full, or does not work. */
bool kf_file_can_write(const char *path, kf_error *error);
/* mkdir -p with mode 0777 & ~umask. */
bool kf_directory_make(const char *path, kf_error *error);
/* The same for the folders that a file is to lie in. */
bool kf_directory_make_above(const char *path, kf_error *error);
/* A fresh directory PREFIX.tmp.XXXXXX under $TMPDIR or /tmp, mode 0700; malloc'd path. PREFIX
 * begins with "kforge-". The process holds a lock on it until it is removed by kf_directory_remove;
 * before a process makes its first one it removes those that processes have left which were killed.
 */
char *kf_directory_temporary(const char *prefix, kf_error *error);
/* rm -rf that never follows a symbolic link and never leaves the file system it started on. Missing
 * is fine. */
bool kf_directory_remove(const char *path, kf_error *error);
/* "a/b" from "a" and "b"; malloc'd; an absolute `name` is returned as it is. */
char *kf_path_join(const char *directory, const char *name);
/* Full writes and reads on descriptors, retrying on EINTR; false on error or end of file. */
bool kf_write_all(int fd, const void *data, size_t size);
bool kf_read_all(int fd, void *data, size_t size);
/* Seconds of CLOCK_MONOTONIC. */
double kf_now(void);
/* Fills from the kernel's random source (getrandom); aborts the process never: false when the
 * kernel refuses. */
bool kf_random(void *data, size_t size);

#endif
