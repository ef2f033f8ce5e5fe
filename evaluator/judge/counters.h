/* Hardware counters of a candidate that was judged: another runner, another buffers, after the verdict. See kforge/counters.h. */
#ifndef KFORGE_JUDGE_COUNTERS_H
#define KFORGE_JUDGE_COUNTERS_H

#include "device_cuda.h"
#include "judge_internal.h"
#include "kforge/counters.h"

/* What a device needs to count one call. */
typedef struct kf_counting {
    const kf_problem *problem;
    const char *binary, *wanted; /* "all" or names */
    kf_counters_origin origin;   /* the device fills in its compute capability */
    double seconds;              /* at most, each of what the runner is asked for */
    double call_seconds; /* of a call of the candidate's, which decides how much is counted; 0 or NaN: not known, everything */
    kf_crew *crew;       /* that may have started one; NULL: none has */
    bool strict_sandbox;
    const volatile int *stop;
} kf_counting;

/* Counts where the job asks for it and the candidate is correct, into verdict->counters: counters, or a note of what is in the way. False only on the
 * caller's stop flag (KF_ERROR_BUSY) or without memory. */
bool kf_judge_count(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict, const volatile int *stop,
                    kf_error *error);

/* Does the driver let only administrators count? By its own word, /proc/driver/nvidia/params, which may be NULL. Pure. */
bool kf_counters_restricted(const char *params);
/* counters_cuda.c. kf_cuda_count: NULL as above. */
bool kf_cuda_expect_count(kf_device *device, kf_crew *crew, const char *wanted);
/* Makes of a place for a runner one for counting (environment, paths). */
bool kf_cuda_count_place(kf_cuda_device *gpu, kf_runner_place *place, kf_error *error);
cJSON *kf_cuda_count(kf_device *device, kf_counting *counting, kf_error *error);

#endif
