/* The builds of one job, on threads of their own: the candidate, and the task's baseline and oracle
 * if the cache lacks them. A jail dies with the thread that made it, so each thread lives as long
 * as its build. */
#ifndef KFORGE_JOB_BUILDS_H
#define KFORGE_JOB_BUILDS_H

#include <pthread.h>

#include "judge_internal.h"
#include "task_binaries.h"

enum { KF_TRUSTED_BASELINE, KF_TRUSTED_ORACLE, KF_TRUSTED_COUNT };

typedef struct kf_trusted_work {
    kf_prepared *prepared;
    const kf_task_file *file;
    bool oracle, done, running;
    kf_task_binary binary;
    kf_error error;
    pthread_t thread;
} kf_trusted_work;

struct kf_prepared {
    kf_judge *judge;
    /* The caller's job with the device's changes. */
    kf_job own;
    const kf_job *job;
    const kf_task_file *baseline;
    /* What the task forbids and the source has, and in which line. Then nothing is built. */
    const char *forbidden;
    int forbidden_line;
    char *directory; /* of the candidate's build */
    kf_build candidate;
    /* `asked`: the build was tried. */
    bool done, running, asked;
    kf_error error;
    pthread_t thread;
    /* Atomic. True after the candidate's build. */
    int finished;
    int notify;
    /* The flag of kf_judge_measure: once it is non-zero, builds that are waited for end. */
    const volatile int *stop;
    /* Atomic. 1: builds end without a result. */
    volatile int halt;
    kf_trusted_work trusted[KF_TRUSTED_COUNT];
};

/* Wait for builds. False: a fault of the machine or the judge, or KF_ERROR_BUSY after a stop. */
bool kf_prepared_await_candidate(kf_prepared *prepared, kf_error *error);
bool kf_prepared_await_trusted(kf_prepared *prepared, kf_error *error);

#endif
