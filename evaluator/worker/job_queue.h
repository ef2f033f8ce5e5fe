/* Jobs that a worker has at hand: the candidates of all are built on threads of their own, and one
 * that is built is measured. Both kinds of worker (worker.h) take jobs in so, as many as
 * kf_judge_jobs says. */
#ifndef KFORGE_AT_HAND_H
#define KFORGE_AT_HAND_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/judge.h"

#define KF_JOB_QUEUE_MAX 64

typedef struct kf_hand {
    kf_job *job;
    /* NULL: not even that worked, which kf_judge_run says again, in a verdict */
    kf_prepared *prepared;
    void *mark; /* the caller's */
} kf_hand;

typedef struct kf_job_queue {
    kf_judge *judge;
    kf_hand hands[KF_JOB_QUEUE_MAX]; /* in the order they came */
    size_t count, most;
    int faults;   /* of the machine's, in a row (kforge/faults.h) */
    int built[2]; /* a pipe: a byte for each build that is over */
} kf_job_queue;

/* False: no pipe. */
bool kf_job_queue_open(kf_job_queue *hand, kf_judge *judge, kf_error *error);
/* Waits for the builds. Marks are not looked at: the caller lets go of what has one. */
void kf_job_queue_close(kf_job_queue *hand);
/* Begins to build. `job` is the hand's from here on; there has to be room (count < most). */
void kf_job_queue_add(kf_job_queue *hand, kf_job *job, void *mark);
/* Which to measure now; -1: wait until built[0] can be read. The only one there is need not be
 * built: the judge makes ready what it can meanwhile. */
int kf_job_queue_choose(kf_job_queue *hand);
/* As kf_judge_measure. Where the machine is at fault several times in a row it is asked whether it
 * judges at all: if so, the verdict has the flag KF_MACHINE_HEALTH_CHECK. */
kf_verdict *kf_job_queue_measure(kf_job_queue *hand, size_t at, const volatile int *stop,
                                 kf_error *error);
void kf_job_queue_let_go(kf_job_queue *hand, size_t at);

#endif
