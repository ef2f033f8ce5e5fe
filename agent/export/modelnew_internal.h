/* What the files of the export for KernelBench's evaluator share. */
#ifndef KFORGE_MODELNEW_INTERNAL_H
#define KFORGE_MODELNEW_INTERNAL_H

#include <cjson/cJSON.h>
#include <string.h>

#include "export_modelnew.h"

/* "origin" of the task: file, level, problem; NULL none. */
const cJSON *kf_modelnew_origin(const kf_task *task);
/* The first workload as the device sees it that judged the candidate; without one as a GPU does,
 * where KernelBench's evaluator runs. *patches, which may be NULL: how far it is from the problem's
 * own sizes; to be freed. */
bool kf_modelnew_resolve(const kf_task *task, bool on_cpu, kf_problem *problem, cJSON **patches,
                         kf_error *error);

static inline bool kf_modelnew_is_python(const char *source)
{
    return strstr(source, "class ModelNew");
}

#endif
