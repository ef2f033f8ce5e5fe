/* What judge.c, lint.c and their tests share. */
#ifndef KFORGE_JUDGE_INTERNAL_H
#define KFORGE_JUDGE_INTERNAL_H

#include <pthread.h>

#include "crew.h"
#include "device.h"
#include "kforge/judge.h"
#include "parallel.h"

struct kf_judge {
    kf_device *device;
    kf_parallel *parallel;
    kf_crew *crew;
    char *cache;                      /* NULL: none */
    char *conditions;                 /* kf_judge_conditions */
    pthread_mutex_t trusted_locks[2]; /* of the cache's builds: baselines, oracles */
};

#define KF_DISTURBED_ROUNDS 3 /* a measurement that something disturbed is made so often at most */

/* Is what was measured in `rounds` rounds, `seconds` in all, with this status in the end, measured once more? Only what the machine disturbed, and only
 * when another round as long fits into the job's timeout. */
bool kf_judge_tries_again(kf_status status, int rounds, double seconds, double timeout);

#endif
