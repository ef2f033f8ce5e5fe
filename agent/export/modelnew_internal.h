/* Declarations for the files of the export for KernelBench's evaluator. */
#ifndef KFORGE_MODELNEW_INTERNAL_H
#define KFORGE_MODELNEW_INTERNAL_H

#include <cjson/cJSON.h>
#include <string.h>

#include "export_modelnew.h"

/* Returns "origin" of the task with file, level, problem; or NULL. */
const cJSON *kf_modelnew_origin(const kf_task *task);
/* Resolves the first workload for the kind of device that judged the candidate, else for a GPU.
 * *patches (may be NULL) gets the differences from the problem's own sizes; the caller frees it. */
bool kf_modelnew_resolve(const kf_task *task, bool on_cpu, kf_problem *problem, cJSON **patches,
                         kf_error *error);

static inline bool kf_modelnew_is_python(const char *source)
{
    return strstr(source, "class ModelNew") || strstr(source, "\nModelNew = ");
}

#endif
