/* The file of a build archive (build_archive.h): memory of the judge, to which the jail has a
 * descriptor. */
#ifndef KFORGE_JUDGE_CRATE_FILE_H
#define KFORGE_JUDGE_CRATE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

#define KF_BUILD_ARCHIVE_FD 3 /* its number in the jail */

/* Mapped or read (malloc'd); empty when the jail left nothing. */
typedef struct kf_build_archive_file {
    char *data;
    size_t size;
    bool mapped;
    bool whole; /* the phase came to its end; what was cut short is tried anew by the next job */
} kf_build_archive_file;

/* A descriptor for a jail to write to; the caller closes it. -1 with the error. */
int kf_build_archive_file_open(kf_error *error);
/* Maps the archive. Call it after the end of the jail's whole process tree, when no process can
 * write any more. A file over KF_BINARY_BYTES counts as empty. */
bool kf_build_archive_file_map(kf_build_archive_file *file, int fd, kf_error *error);
void kf_build_archive_file_free(kf_build_archive_file *file);

#endif
