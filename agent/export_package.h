/* A folder with a C library of the winners: sources, header, dispatch by shape, a test, CMake files, provenance. */
#ifndef KFORGE_EXPORT_PACKAGE_H
#define KFORGE_EXPORT_PACKAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/store.h"

typedef struct kf_package_options {
    const char *task; /* name or hash; NULL: all tasks of the store */
    const char *output, *license;
    bool force;
} kf_package_options;

typedef struct kf_package_report {
    int64_t tasks, kernels, skipped;
} kf_package_report;

/* Written beside `output` and moved there when complete. KF_ERROR_INPUT when there is no winner at all or something is there already. */
bool kf_export_package(kf_store *store, const kf_package_options *options, kf_package_report *report, kf_error *error);

#endif
