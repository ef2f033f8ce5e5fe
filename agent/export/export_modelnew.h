/* A CUDA C candidate of a task for PyTorch as the Python file that KernelBench's evaluator takes:
 * class ModelNew, a subclass of the problem's own Model, so that constructor, random numbers drawn
 * and state_dict agree; its forward makes the outputs and calls the candidate's entry with inputs,
 * parameters and buffers by name.
 *
 * The C++ part needs no CUDA header: it hands addresses and the stream's handle on. Shapes and
 * dtypes are those of the task: forward refuses others. */
#ifndef KFORGE_EXPORT_MODELNEW_H
#define KFORGE_EXPORT_MODELNEW_H

#include "export_winners.h"
#include "kforge/store.h"
#include "kforge/task.h"

typedef struct kf_modelnew_source {
    const char *text; /* CUDA C, or a ModelNew already, which stays as it is */
    size_t size;
    const char *const *flags; /* what it is compiled with, ends with NULL; NULL none */
    bool on_cpu;              /* written for the sizes that the task has on the CPU device */
    const char *notes;        /* comment lines for its head; NULL none */
} kf_modelnew_source;

/* The file's text, malloc'd. KF_ERROR_INPUT when the task is none for PyTorch. */
char *kf_modelnew_text(const kf_task *task, const kf_modelnew_source *source, kf_error *error);
/* The C++ part alone: what g++ compiles. */
char *kf_modelnew_binding(const kf_task *task, kf_error *error);

typedef struct kf_modelnew_options {
    /* `task` is a folder with `candidate`, and nothing else of it counts then but the secrets */
    kf_selection selection;
    const char *candidate; /* a source file; NULL: of each task the fastest correct one, one that
                              was measured twice where there is one */
    /* a file, or a folder for TASK.py and provenance.json; with `kernelbench` a run's folder */
    const char *output;
    const char *license;
    /* level_L_problem_P_sample_0_kernel.py and kforge_results_level_L.json, in the form of
     * eval_results.json */
    bool kernelbench;
    bool force;
} kf_modelnew_options;

typedef struct kf_modelnew_report {
    int64_t files;
    int64_t skipped, held_out; /* tasks without such a candidate; left out */
    int64_t changed;           /* files whose source is no longer the text that was judged */
    /* … that are for other sizes than the problem's: KernelBench's evaluator can't run them */
    int64_t scaled;
    int64_t scrubbed; /* secrets and places taken out */
} kf_modelnew_report;

/* `store` may be NULL with a candidate. Written beside `output` and moved there when complete
 * (export_atomic_output.h). */
bool kf_export_modelnew(kf_store *store, const kf_modelnew_options *options,
                        kf_modelnew_report *report, kf_error *error);

#endif
