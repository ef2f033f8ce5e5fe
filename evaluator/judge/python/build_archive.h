/* The build archive: the file that leaves the build jail of a solution's extensions
 * (evaluator/torch/cpp_extension/build.py), or its dry run. It holds records, one after the other.
 * Foreign code ran in the jail, so the archive counts only as the solution's own: every field is
 * checked, and a broken record ends it. Pure. */
#ifndef KFORGE_JUDGE_CRATE_H
#define KFORGE_JUDGE_CRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/hash.h"

#define KF_BUILD_ARCHIVE_NAME 64 /* bytes of a name, with its NUL */

typedef enum kf_build_archive_kind {
    KF_BUILD_ARCHIVE_LIBRARY = 1, /* a shared object */
    /* what the compiler said of one that failed; the solution may go on without */
    KF_BUILD_ARCHIVE_FAILED,
    KF_BUILD_ARCHIVE_NOTE, /* for the log */
    /* why the whole is a compile error; the first line is the reason */
    KF_BUILD_ARCHIVE_COMPLAINT,
    /* likewise, but this machine lacks something. Behind a NUL follows the source, by which the
       judge finds that out itself. */
    KF_BUILD_ARCHIVE_UNSUPPORTED,
    /* of a dry run (dry_run.h): files that compilers left, in a form that only the solution's
       runners read */
    KF_BUILD_ARCHIVE_CACHES,
    KF_BUILD_ARCHIVE_KINDS
} kf_build_archive_kind;

typedef struct kf_build_archive_record {
    kf_build_archive_kind kind;
    char key[KF_HASH_HEX];            /* of LIBRARY and FAILED: what the runner will ask for */
    char name[KF_BUILD_ARCHIVE_NAME]; /* of LIBRARY: the module's; letters, digits and '_' */
    const char *data;                 /* borrowed from the archive */
    size_t size;
} kf_build_archive_record;

/* Reads the record at *at and moves *at behind it. False at the end, or at a broken record. */
bool kf_build_archive_next(const void *archive, size_t size, size_t *at,
                           kf_build_archive_record *record);

#endif
