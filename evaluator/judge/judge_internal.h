/* What judge.c, lint.c and their tests share. */
#ifndef KFORGE_JUDGE_INTERNAL_H
#define KFORGE_JUDGE_INTERNAL_H

#include <pthread.h>

#include "runner_pool.h"
#include "device.h"
#include "kforge/judge.h"
#include "parallel.h"

struct kf_judge {
    kf_device *device;
    kf_parallel *parallel;
    kf_runner_pool *pool;
    char *cache;                      /* NULL: none */
    char *environment_id;             /* kf_judge_environment_id */
    pthread_mutex_t trusted_locks[2]; /* of the cache's builds: baselines, oracles */
};

#define KF_DISTURBED_ROUNDS 3 /* a measurement that something disturbed is made so often at most \
                               */
/* What only a clock says of a candidate has to be said so often, in other processes each time, and
 * so has the contrary once it was said: of 400 jobs on a busy host with two GPUs the clock accused
 * five honest ones, each in its process's whole life. Were they independent, three of five such
 * would meet one in 80,000. */
#define KF_CLOCK_ROUNDS 3

typedef struct kf_rounds {
    int made, disturbed;  /* of them */
    int accused, cleared; /* by the clock alone; and behind the first of those, found right */
} kf_rounds;

/* Books what the last round said. Is what `seconds` have been spent on measured once more? Only
 * what the machine disturbed and what rests on the clock alone, and only when another round as long
 * fits into the job's timeout. */
bool kf_judge_tries_again(kf_rounds *rounds, const kf_verdict *verdict, double seconds,
                          double timeout);

#endif
