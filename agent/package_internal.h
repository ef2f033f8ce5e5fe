/* What the files of the package export share. */
#ifndef KFORGE_PACKAGE_INTERNAL_H
#define KFORGE_PACKAGE_INTERNAL_H

#include <cjson/cJSON.h>

#include "kforge/buffer.h"
#include "kforge/store.h"
#include "kforge/task.h"

typedef struct kf_kernel {
    char hash[KF_HASH_HEX];
    char *source, *flags, *device; /* flags: JSON */
    cJSON *sanitizer;              /* what compute-sanitizer said when it was measured again; NULL: it was not asked */
    size_t size;
    int64_t verdict;
    kf_interval speedup, speedups[KF_MAX_WORKLOADS];
} kf_kernel;

typedef struct kf_winners {
    kf_task *task;
    kf_kernel kernels[16]; /* the default first */
    size_t count;
    size_t choice[KF_MAX_WORKLOADS]; /* kernel of each workload */
    bool on_cpu;
} kf_winners;
void kf_winners_free(kf_winners *winners);

/* Writes a file of the package; `folder` is the package's. */
bool kf_package_put(const char *folder, const char *name, kf_buffer *text, kf_error *error);

/* ---- package_text.c ---- */
void kf_package_begin(kf_buffer *header, kf_buffer *cmake, kf_buffer *readme);
/* All files of one task, and its part of the common ones. */
bool kf_package_write_task(const char *folder, const kf_winners *winners, kf_buffer *header, kf_buffer *cmake, kf_buffer *readme,
                           kf_error *error);
/* Files that are the same in every package. */
bool kf_package_write_fixed(const char *folder, kf_error *error);

#endif
