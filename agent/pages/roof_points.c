#include "roof_points.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double number_of(const cJSON *json, const char *key, double fallback)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsNumber(item) ? item->valuedouble : fallback;
}

static const kf_workload_verdict *timed_workload(const kf_verdict *verdict, const char *name)
{
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (strcmp(w->workload, name) == 0) return w->timed && w->candidate_seconds > 0 ? w : NULL;
    }
    return NULL;
}

/* Returns the operations of a call of the imported module at the task's size. 0 if unknown. */
static double reference_flops(const kf_task *task)
{
    const cJSON *origin = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "origin");
    int given = 0;
    for (int i = 0; i < kf_task_workload_count(task); i++) given += !kf_task_is_unseen(task, i);
    return given == 1 ? number_of(origin, "flops", 0) : 0;
}

size_t kf_roof_points(const kf_task *task, const kf_verdict *verdict, kf_roof_point *points,
                      size_t most)
{
    char family[16];
    size_t count = 0;
    snprintf(family, sizeof family, "%.*s", (int)strcspn(verdict->device, ":"), verdict->device);
    for (int i = 0; i < kf_task_workload_count(task) && count < most; i++) {
        kf_problem problem;
        bool applies;
        const kf_workload_verdict *w = timed_workload(verdict, kf_task_workload_name(task, i));
        if (!w || !kf_task_resolve(task, i, family, &problem, &applies, NULL) || !applies) continue;
        points[count++] = (kf_roof_point){.workload = w->workload,
                                          .bytes = problem.work_bytes,
                                          .flops = problem.work_flops > 0 ? problem.work_flops
                                                                          : reference_flops(task),
                                          .seconds = w->candidate_seconds,
                                          .baseline_seconds = w->baseline_seconds,
                                          .floor_seconds = w->floor_seconds};
    }
    return count;
}

kf_roof_ceilings kf_roof_ceilings_of(const kf_verdict *verdict)
{
    const cJSON *device = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "device");
    return (kf_roof_ceilings){.bytes_per_second =
                                  number_of(device, "copy_bytes_per_second",
                                            number_of(device, "read_bytes_per_second", NAN)),
                              .flops_per_second = number_of(device, "peak_flops_per_second", NAN)};
}
