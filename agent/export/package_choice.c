/* Workloads of a package: which of them apply, and which can have a kernel of their own. */
#include <stdlib.h>

#include "package_internal.h"

bool kf_package_resolve(const kf_winners *w, int workload, kf_problem *problem)
{
    bool applies;
    return kf_task_resolve(w->task, workload, w->on_cpu ? "cpu" : "cuda", problem, &applies,
                           NULL) &&
           applies;
}

bool kf_package_is_key(const kf_problem_argument *argument)
{
    return argument->kind == KF_SCALAR && !kf_dtype_is_float(argument->dtype);
}

bool kf_package_can_choose(const kf_winners *w, int workload)
{
    kf_autofree kf_problem *own = calloc(1, sizeof *own), *other = calloc(1, sizeof *other);
    if (!own || !other || !kf_package_resolve(w, workload, own)) return false;
    for (int k = 0; k < kf_task_workload_count(w->task); k++) {
        if (w->choice[k] == w->choice[workload] || !kf_package_resolve(w, k, other)) continue;
        bool differ = false;
        for (int i = 0; i < own->argument_count; i++)
            differ |= kf_package_is_key(&own->arguments[i]) &&
                      own->arguments[i].value.integer != other->arguments[i].value.integer;
        if (!differ) return false;
    }
    return true;
}
