/* The jobs of a worker. Their candidates are built on threads of their own, and one built job at a
 * time is measured. Both kinds of worker (worker.h) use it, for up to kf_judge_jobs jobs. */
#ifndef KFORGE_JOB_QUEUE_H
#define KFORGE_JOB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "event_stream.h"
#include "kforge/judge.h"

#define KF_JOB_QUEUE_MAX 64

typedef struct kf_queued_job {
    kf_job *job;
    /* NULL if kf_judge_prepare failed. kf_judge_run repeats the failure, in a verdict. */
    kf_prepared *prepared;
    /* Of the caller. */
    void *mark;
} kf_queued_job;

typedef struct kf_job_queue {
    kf_judge *judge;
    /* In the order of their arrival. */
    kf_queued_job jobs[KF_JOB_QUEUE_MAX];
    size_t count, most;
    /* Faults of the machine in a row (machine_failures.h). */
    int faults;
    /* Gets an event for each verdict; or NULL. kf_job_queue_open sets it to NULL. */
    kf_event_stream *events;
    /* Verdicts so far. */
    int64_t verdicts;
    /* A pipe with one byte for each finished build. */
    int built[2];
} kf_job_queue;

/* Makes an empty queue. */
bool kf_job_queue_open(kf_job_queue *queue, kf_judge *judge, kf_error *error);
/* Waits for the builds and frees all jobs. The caller owns the marks. */
void kf_job_queue_close(kf_job_queue *queue);
/* Begins to build a job. The queue owns `job` from now on. count must be less than most. */
void kf_job_queue_add(kf_job_queue *queue, kf_job *job, void *mark);
/* Returns the index of the job to measure now. -1: wait until built[0] is readable. A single job is
 * returned even before its build ends, since the judge prepares its runners meanwhile. */
int kf_job_queue_choose(kf_job_queue *queue);
/* Does the same as kf_judge_measure. After several faults of the machine in a row it runs the
 * health check. If the machine is healthy, the verdict gets the flag KF_MACHINE_HEALTH_CHECK. */
kf_verdict *kf_job_queue_measure(kf_job_queue *queue, size_t at, const volatile int *stop,
                                 kf_error *error);
void kf_job_queue_remove(kf_job_queue *queue, size_t at);

#endif
