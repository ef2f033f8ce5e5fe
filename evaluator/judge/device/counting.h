/* What a device is asked for when it counts one call of a candidate (kf_device_operations.count).
 */
#ifndef KFORGE_COUNTING_H
#define KFORGE_COUNTING_H

#include "runner_pool.h"
#include "kforge/counters.h"
#include "kforge/task.h"

/* What a device needs to count one call. */
typedef struct kf_counting {
    const kf_problem *problem;
    const char *binary, *wanted; /* "all" or names */
    kf_counters_origin origin;   /* the device fills in its compute capability */
    double seconds;              /* at most, each of what the runner is asked for */
    /* of a call of the candidate's, which decides how much is counted; 0 or NaN: not known,
     * everything */
    double call_seconds;
    kf_runner_pool *pool; /* that may have started one; NULL: none has */
    bool strict_sandbox;
    const volatile int *stop;
} kf_counting;

#endif
