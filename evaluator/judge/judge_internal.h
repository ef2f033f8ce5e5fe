/* What judge.c and lint.c share. */
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
    pthread_mutex_t trusted_locks[2]; /* of the cache's builds: baselines, oracles */
};

#endif
