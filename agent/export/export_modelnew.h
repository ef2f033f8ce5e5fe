/* A CUDA C candidate of a PyTorch task as a Python file for KernelBench's evaluator. Its class
 * ModelNew is a subclass of the problem's Model, so constructor, drawn random numbers and
 * state_dict agree. Its forward makes the outputs and calls the candidate's entry with inputs,
 * parameters and buffers by name.
 *
 * The C++ part needs no CUDA header: it passes addresses and the stream's handle. forward refuses
 * shapes and dtypes other than the task's. */
#ifndef KFORGE_EXPORT_MODELNEW_H
#define KFORGE_EXPORT_MODELNEW_H

#include "export_winners.h"
#include "kforge/store.h"
#include "kforge/task.h"

typedef struct kf_modelnew_source {
    /* CUDA C, or a finished ModelNew, which stays unchanged */
    const char *text;
    size_t size;
    /* compiler flags, ended by NULL; or NULL */
    const char *const *flags;
    /* True if it was written for the task's sizes on the CPU device */
    bool on_cpu;
    /* comment lines for the start of the file, or NULL */
    const char *notes;
} kf_modelnew_source;

/* Returns the text of the file, malloc'd. KF_ERROR_INPUT if the task is not for PyTorch. */
char *kf_modelnew_text(const kf_task *task, const kf_modelnew_source *source, kf_error *error);
/* Returns only the C++ part, for g++. */
char *kf_modelnew_binding(const kf_task *task, kf_error *error);

typedef struct kf_modelnew_options {
    /* With `candidate`, `task` is a folder, and only the secrets of the selection apply. */
    kf_selection selection;
    /* a source file. NULL for the fastest correct candidate of each task, first of those measured
     * twice. */
    const char *candidate;
    /* a file, or a folder for TASK.py and provenance.json; with `kernelbench` a run's folder */
    const char *output;
    const char *license;
    /* True: write level_L_problem_P_sample_0_kernel.py and kforge_results_level_L.json in the form
     * of eval_results.json */
    bool kernelbench;
    /* True: write submission.py for tasks in GPU MODE's format, and no other tasks */
    bool submission;
    bool force;
} kf_modelnew_options;

typedef struct kf_modelnew_report {
    int64_t files;
    /* tasks without a candidate; excluded tasks */
    int64_t skipped, held_out;
    /* files with a source that differs from the judged one */
    int64_t changed;
    /* files for other sizes than the problem's, which KernelBench's evaluator can't run */
    int64_t scaled;
    kf_scrub_count scrubbed;
} kf_modelnew_report;

/* Exports the files. `store` may be NULL with a candidate. The output appears when it is complete
 * (export_atomic_output.h). */
bool kf_export_modelnew(kf_store *store, const kf_modelnew_options *options,
                        kf_modelnew_report *report, kf_error *error);

#endif
