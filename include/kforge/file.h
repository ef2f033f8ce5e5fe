/* Whole files: reads with a limit, atomic writes, folders. Paths are byte strings. Thread-safe.
 *
 * Strings that these functions return are the caller's to free. Errors: KF_ERROR_INPUT for a path
 * that the user can correct, KF_ERROR_IO for a disk that is full or fails, KF_ERROR_MEMORY. */
#ifndef KFORGE_FILE_H
#define KFORGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"

/* Reads a whole regular file. The text ends with a NUL; `size` may be NULL. KF_ERROR_LIMIT beyond
 * `limit` bytes. */
char *kf_file_read(const char *path, size_t limit, size_t *size, kf_error *error);
/* Writes a temporary file in the same folder, then calls fsync and rename. Readers see the old or
 * the new content, never a part. */
bool kf_file_write(const char *path, const void *data, size_t size, kf_error *error);
/* Writes kforge's own file at a relative path below the working folder. Makes missing folders. File
 * and folders are the user's alone (0600, 0700). Fails if a folder is a symbolic link: other people
 * may have put it there. */
bool kf_file_write_own(const char *path, const void *data, size_t size, kf_error *error);
/* True if kf_file_write_own can write `path`. Makes nothing. Errors are those of
 * kf_file_can_write. */
bool kf_file_can_write_own(const char *path, kf_error *error);
/* True if kf_file_write can write `path` once the folders above it are made. Tries a temporary file
 * in its folder, or in the nearest folder above that exists, and removes it. An existing file stays
 * as it is. KF_ERROR_INPUT: another path would work. KF_ERROR_IO: the disk is full or fails. */
bool kf_file_can_write(const char *path, kf_error *error);
/* Makes a folder and those above it, with mode 0777 & ~umask. */
bool kf_directory_make(const char *path, kf_error *error);
/* Makes them with mode 0700. Folders that exist keep their mode. */
bool kf_directory_make_private(const char *path, kf_error *error);
/* Makes the folders above a file. */
bool kf_directory_make_above(const char *path, kf_error *error);
/* Makes a folder PREFIX.tmp.XXXXXX under $TMPDIR or /tmp, with mode 0700, and returns its path.
 * PREFIX begins with "kforge-". The process holds a lock on the folder until kf_directory_remove.
 * Before its first folder, a process removes unlocked ones, which killed processes left. */
char *kf_directory_temporary(const char *prefix, kf_error *error);
/* Removes a folder with its content. Never follows a symbolic link, and never leaves the file
 * system. A missing folder is no error. */
bool kf_directory_remove(const char *path, kf_error *error);
/* Returns the part of a path after the last slash. */
const char *kf_path_name(const char *path);
/* Returns "a/b" for "a" and "b", and a copy of an absolute `name`. NULL without memory. */
char *kf_path_join(const char *directory, const char *name);
/* Write or read all bytes of a descriptor, and retry on EINTR. False on an error or at the end of
 * the file. */
bool kf_write_all(int fd, const void *data, size_t size);
bool kf_read_all(int fd, void *data, size_t size);
/* Returns the seconds of CLOCK_MONOTONIC. */
double kf_now(void);
/* Fills `data` from the operating system's random source (getrandom). False if that fails. */
bool kf_random(void *data, size_t size);

#endif
