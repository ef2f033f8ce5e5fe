/* Timed workloads against the ceilings of their device: the points and lines of a roofline chart.
 */
#ifndef KFORGE_ROOF_POINTS_H
#define KFORGE_ROOF_POINTS_H

#include <stddef.h>

#include "kforge/task.h"
#include "kforge/verdict.h"

/* A timed workload of a candidate. */
typedef struct kf_roof_point {
    /* Borrowed. */
    const char *workload;
    /* Of one call, by the task. 0 if unknown. */
    double bytes, flops;
    /* Of one call. The floor is the least time that the device allows; 0 if unknown. */
    double seconds, baseline_seconds, floor_seconds;
} kf_roof_point;

/* NaN if unknown. */
typedef struct kf_roof_ceilings {
    double bytes_per_second, flops_per_second;
} kf_roof_ceilings;

/* Reads at most `most` points. The names of their workloads belong to the verdict. An imported
 * problem has the operations of its reference; a candidate may need fewer. */
size_t kf_roof_points(const kf_task *task, const kf_verdict *verdict, kf_roof_point *points,
                      size_t most);
/* Reads the measured bandwidth and the nominal arithmetic of the device that judged. */
kf_roof_ceilings kf_roof_ceilings_of(const kf_verdict *verdict);

#endif
