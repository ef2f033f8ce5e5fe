/* The paths of this machine that a jail shows: only those that compilers and runners need. */
#ifndef KFORGE_JAIL_H
#define KFORGE_JAIL_H

#include "kforge/sandbox.h"

/* A variable that gives __DATE__ and __TIME__ one value in every build. */
#define KF_BUILD_EPOCH "SOURCE_DATE_EPOCH=0"

#define KF_JAIL_PATHS 40

typedef struct kf_jail {
    kf_sandbox_path paths[KF_JAIL_PATHS];
    size_t count;
    /* kforge's own, under the root. */
    char bin[4096], lib[4096];
} kf_jail;

/* Appends the paths that every dynamically linked program reads, until `*count` is `most`. */
void kf_jail_system(kf_sandbox_path *paths, size_t *count, size_t most);
/* Appends only the libraries that a compiled C++ program loads, file by file: the C and C++ runtime
 * and the dynamic linker. */
void kf_jail_libraries(kf_sandbox_path *paths, size_t *count, size_t most);
/* Makes a jail with system libraries and programs and kforge's own bin/ and lib/kforge/, all
 * read-only, and with `directory` with `access`. The jail borrows `directory`. */
void kf_jail_init(kf_jail *jail, const char *directory, int access);

#endif
