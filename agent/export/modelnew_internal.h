/* Declarations for the files of the export for KernelBench's evaluator. */
#ifndef KFORGE_MODELNEW_INTERNAL_H
#define KFORGE_MODELNEW_INTERNAL_H

#include <cjson/cJSON.h>

#include "export_modelnew.h"
#include "kforge/buffer.h"

/* Returns "origin" of the task with file, level, problem; or NULL. */
const cJSON *kf_modelnew_origin(const kf_task *task);
/* Resolves the first workload for the kind of device that judged the candidate, else for a GPU.
 * *patches (may be NULL) gets the differences from the problem's own sizes; the caller frees it. */
bool kf_modelnew_resolve(const kf_task *task, bool on_cpu, kf_problem *problem, cJSON **patches,
                         kf_error *error);

/* Writes "NAME = text" as a Python literal over several lines. */
void kf_modelnew_write_literal(kf_buffer *text, const char *name, const char *value);
/* Writes the statements that compile _KFORGE_SOURCE and _KFORGE_BINDING to _kforge_extension. */
void kf_modelnew_write_loading(const kf_task *task, const char *hex, const char *const *flags,
                               kf_buffer *text);
const char *kf_modelnew_dtype(kf_dtype dtype);
/* Returns a submission.py for a task in GPU MODE's format (export_submission.c), malloc'd. */
char *kf_submission_text(const kf_task *task, const kf_modelnew_source *source, kf_error *error);

#endif
