/* The builds of one job, on threads of their own: the candidate's, and the task's baseline and
 * oracle where the cache does not have them. A jail dies with the thread that made it; these end
 * when their build does. */
#ifndef KFORGE_PREPARE_H
#define KFORGE_PREPARE_H

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
    kf_job own; /* the caller's, but for what the device changes */
    const kf_job *job;
    const kf_task_file *baseline;
    char *directory; /* of the candidate's build */
    kf_build candidate;
    bool done, running, asked; /* asked: the build was tried at all */
    kf_error error;
    pthread_t thread;
    int finished; /* atomic: the candidate's build is over */
    int notify;
    kf_trusted_work trusted[KF_TRUSTED_COUNT];
};

/* Wait; false: not even that, with the error. */
bool kf_prepared_await_candidate(kf_prepared *prepared, kf_error *error);
bool kf_prepared_await_trusted(kf_prepared *prepared, kf_error *error);

#endif
