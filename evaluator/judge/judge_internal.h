/* The judge's struct, and the rule for repeated rounds. */
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
    /* Seconds in which its jobs have waited for other processes that timed on the device. */
    double waited;
    /* NULL without a cache. */
    char *cache;
    char *environment_id;
    /* kf_judge_watch */
    void (*step)(void *context, const char *words);
    void *step_context;
    /* Of the builds in the cache: baselines, oracles. */
    pthread_mutex_t trusted_locks[2];
};

/* The most rounds of a measurement that the machine disturbs. */
#define KF_DISTURBED_ROUNDS 3
/* An accusation by the clock alone must repeat in this many rounds, each in fresh processes. After
 * an accusation, an acquittal must repeat as often. On a busy host with two GPUs the clock accused
 * 5 honest candidates of 400, each for the whole life of its process. If rounds are independent,
 * three of five accuse one honest candidate in 80,000. */
#define KF_CLOCK_ROUNDS 3

typedef struct kf_rounds {
    int made, disturbed;
    /* Rounds that accuse by the clock alone, and rounds after the first accusation that found the
     * candidate right. */
    int accused, cleared;
} kf_rounds;

/* Counts the last round. True if another round follows: the machine disturbed the round, or its
 * accusation rests on the clock alone, and one more round of the same length fits into `timeout`.
 * `seconds`: the time of all rounds so far. */
bool kf_judge_tries_again(kf_rounds *rounds, const kf_verdict *verdict, double seconds,
                          double timeout);

#endif
