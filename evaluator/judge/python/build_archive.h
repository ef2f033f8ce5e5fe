/* What leaves the build jail of a solution's extensions (evaluator/torch/build.py), and its dry
 * run: records one after the other in a file that only the jail wrote to. A stranger's code ran
 * there, so nothing of it is believed but that it is the solution's own: every field is checked,
 * and what breaks the format ends it. Pure. */
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
    KF_BUILD_ARCHIVE_UNSUPPORTED, /* likewise, but this machine is what lacks something */
    /* of a dry run (dry_run.h): files that compilers left, in a form that only the solution's
       runners read */
    KF_BUILD_ARCHIVE_CACHES,
    KF_BUILD_ARCHIVE_KINDS
} kf_build_archive_kind;

typedef struct kf_build_archive_record {
    kf_build_archive_kind kind;
    char key[KF_HASH_HEX];            /* of LIBRARY and FAILED: what the runner will ask for */
    char name[KF_BUILD_ARCHIVE_NAME]; /* of LIBRARY: the module's; letters, digits and '_' */
    const char *data;                 /* borrowed from the crate */
    size_t size;
} kf_build_archive_record;

/* The record at *at, which moves on behind it; false at the end, or where it is no record any more.
 */
bool kf_build_archive_next(const void *archive, size_t size, size_t *at,
                           kf_build_archive_record *record);

#endif
