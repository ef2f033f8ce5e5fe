/* Declarations for the files of the package export. */
#ifndef KFORGE_PACKAGE_INTERNAL_H
#define KFORGE_PACKAGE_INTERNAL_H

#include <cjson/cJSON.h>

#include "export_winners.h"
#include "kforge/buffer.h"
#include "kforge/store.h"
#include "kforge/task.h"

#define KF_PACKAGE_KERNELS 16

typedef struct kf_package_kernel {
    kf_winner winner;
    /* report of compute-sanitizer from the second measurement, or NULL */
    cJSON *sanitizer;
    /* architecture of the GPU that judged, as "90a"; "" if unknown, or for the CPU device */
    char architecture[16];
    kf_interval speedups[KF_MAX_WORKLOADS];
} kf_package_kernel;

typedef struct kf_winners {
    kf_task *task;
    kf_package_kernel kernels[KF_PACKAGE_KERNELS]; /* the default first */
    size_t count;
    /* index of the kernel for each workload */
    size_t choice[KF_MAX_WORKLOADS];
    bool on_cpu;
} kf_winners;
void kf_winners_free(kf_winners *winners);

typedef struct kf_package {
    kf_winner_files files;
    kf_buffer header, cmake, readme; /* of all tasks */
} kf_package;

/* ---- package_choice.c ------------------------------------------------------------------------ */
/* Resolves a workload for the device that judged. False if it does not apply there. */
bool kf_package_resolve(const kf_winners *winners, int workload, kf_problem *problem);
/* True if the argument takes part in the choice: an integer scalar. */
bool kf_package_is_key(const kf_problem_argument *argument);
/* True if the integer scalars of this workload differ from those of all workloads with another
 * kernel. Then the dispatch can choose by them. */
bool kf_package_can_choose(const kf_winners *winners, int workload);

/* ---- package_text.c -------------------------------------------------------------------------- */
void kf_package_begin(kf_package *package);
/* Writes all files of one task, and its part of the common ones. */
bool kf_package_write_task(kf_package *package, const kf_winners *winners, kf_error *error);
/* Ends header and CMake file. */
void kf_package_end(kf_package *package);

/* ---- package_test.c -------------------------------------------------------------------------- */
/* Writes test/TASK.cu, and test/TASK_baseline.cu for a baseline in CUDA C. */
bool kf_package_write_test(kf_package *package, const kf_winners *winners, const char *signature,
                           kf_error *error);
/* Writes test/fill.h, which is the same in every package. */
bool kf_package_write_fill(kf_package *package, kf_error *error);

#endif
