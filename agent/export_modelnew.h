/* A CUDA C candidate of a task for PyTorch as the Python file that KernelBench's evaluator takes: class ModelNew, a subclass of the problem's own Model,
 * so that constructor, random numbers drawn and state_dict agree; its forward makes the outputs and calls the candidate's entry with inputs,
 * parameters and buffers by name.
 *
 * The C++ part needs no CUDA header: it hands addresses and the stream's handle on. Shapes and dtypes are those of the task: forward refuses others. */
#ifndef KFORGE_EXPORT_MODELNEW_H
#define KFORGE_EXPORT_MODELNEW_H

#include "kforge/store.h"
#include "kforge/task.h"

/* The file's text, malloc'd. `flags`: what the candidate is compiled with, ends with NULL, NULL none. KF_ERROR_INPUT when the task is none for PyTorch. A source that
 * is a ModelNew already is returned as it is. */
char *kf_modelnew_text(const kf_task *task, const char *source, size_t size, const char *const *flags, kf_error *error);
/* The C++ part alone: what g++ compiles. */
char *kf_modelnew_binding(const kf_task *task, kf_error *error);

typedef struct kf_modelnew_options {
    const char *task;      /* folder with `candidate`, else name or hash in the store; NULL: all of the store's */
    const char *candidate; /* a source file; NULL: the fastest correct one of each task */
    const char *output;    /* a file, or a folder for TASK.py; with `kernelbench` a run's folder */
    bool kernelbench;      /* level_L_problem_P_sample_0_kernel.py and eval_results.json */
    bool force;
} kf_modelnew_options;

/* `store` may be NULL with a candidate. *count: files written. */
bool kf_export_modelnew(kf_store *store, const kf_modelnew_options *options, int64_t *count, kf_error *error);

#endif
