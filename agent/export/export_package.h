/* A folder with a C library of the winners: sources, header, dispatch by shape, tests, CMake files,
 * provenance. */
#ifndef KFORGE_EXPORT_PACKAGE_H
#define KFORGE_EXPORT_PACKAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "export_winners.h"
#include "kforge/error.h"
#include "kforge/store.h"

typedef struct kf_package_options {
    /* `faster` has no effect: winners are always faster */
    kf_selection selection;
    const char *output, *license;
    bool force;
} kf_package_options;

typedef struct kf_package_report {
    int64_t tasks, kernels;
    /* tasks with winners that the CPU device measured */
    int64_t on_cpu;
    /* tasks without a winner; excluded tasks */
    int64_t skipped, held_out;
    /* kernels with a text that differs from the judged one */
    int64_t changed;
    /* from all files */
    kf_scrub_count scrubbed;
} kf_package_report;

/* Exports the package, which appears when it is complete (export_atomic_output.h). KF_ERROR_INPUT
 * if there is no winner, or the output exists. */
bool kf_export_package(kf_store *store, const kf_package_options *options,
                       kf_package_report *report, kf_error *error);

#endif
