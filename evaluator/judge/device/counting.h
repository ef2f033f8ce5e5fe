/* A request to count one call of a candidate (kf_device_operations.count). */
#ifndef KFORGE_COUNTING_H
#define KFORGE_COUNTING_H

#include "runner_pool.h"
#include "kforge/counters.h"
#include "kforge/task.h"

typedef struct kf_counting {
    const kf_problem *problem;
    /* `wanted`: "all", or names of counters. */
    const char *binary, *wanted;
    /* The plan of a solution in Python (torch_plan.h). NULL for CUDA C. */
    const struct kf_torch_request *torch;
    /* True if the binary has source lines, which are sampled. */
    bool lines;
    /* The device adds its compute capability. */
    kf_counters_origin origin;
    /* The timeout of each command to the runner. */
    double seconds;
    /* Seconds of a call of the candidate. They decide how many passes there are. 0 or NaN if
     * unknown: all passes. */
    double call_seconds;
    /* The pool that may have started a runner. May be NULL. */
    kf_runner_pool *pool;
    bool strict_sandbox;
    const volatile int *stop;
} kf_counting;

#endif
