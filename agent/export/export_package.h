/* A folder with a C library of the winners: sources, header, dispatch by shape, a test, CMake
 * files, provenance. */
#ifndef KFORGE_EXPORT_PACKAGE_H
#define KFORGE_EXPORT_PACKAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "export_winners.h"
#include "kforge/error.h"
#include "kforge/store.h"

typedef struct kf_package_options {
    kf_selection selection; /* `faster` says nothing here: winners are */
    const char *output, *license;
    bool force;
} kf_package_options;

typedef struct kf_package_report {
    int64_t tasks, kernels;
    int64_t on_cpu;            /* tasks whose winners the CPU device measured */
    int64_t skipped, held_out; /* tasks without a winner; left out */
    int64_t changed;           /* kernels whose text is no longer the one that was judged */
    int64_t scrubbed;          /* secrets and places taken out of all files */
} kf_package_report;

/* Written beside `output` and moved there when complete (export_atomic_output.h). KF_ERROR_INPUT
 * when there is no winner at all or something is there already. */
bool kf_export_package(kf_store *store, const kf_package_options *options,
                       kf_package_report *report, kf_error *error);

#endif
