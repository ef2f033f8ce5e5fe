/* The runners of one judge that outlive a workload.
 *
 * On a GPU a runner takes 0.15 s to start (its context), as long as a measurement. A runner in
 * Python takes even longer, on any device. So the pool starts runners before they are needed, and
 * keeps the task's own two runners from job to job. A waiting runner is empty: it has loaded
 * nothing. kf_runner_give copies a binary into its inbox. A candidate's runner ends with its job.
 *
 * Starting and dying runners keep the device busy. So kf_runner_pool_settle waits for dying runners
 * before anything is timed, and kf_runner_pool_pause stops starting runners during a batch. They
 * continue while the judge fills and compares. */
#ifndef KFORGE_RUNNER_POOL_H
#define KFORGE_RUNNER_POOL_H

#include "device.h"
#include "kforge/hash.h"

typedef struct kf_runner_pool kf_runner_pool;

/* Borrows the device. NULL without memory. */
kf_runner_pool *kf_runner_pool_new(kf_device *device);
void kf_runner_pool_free(kf_runner_pool *pool);
KF_DEFINE_AUTO(kf_runner_pool, kf_runner_pool_free)

/* Starts runners of a kind until `count` of them wait. Does not wait for them. Does nothing for a
 * kind that starts quickly. A failure is reported when a runner is taken. */
void kf_runner_pool_expect(kf_runner_pool *pool, kf_runner_kind kind, bool strict, size_t count);
/* Returns how many runners of a kind were started so far. */
size_t kf_runner_pool_started(const kf_runner_pool *pool, kf_runner_kind kind);
/* Ends the waiting runners of a kind. */
void kf_runner_pool_forget(kf_runner_pool *pool, kf_runner_kind kind);
/* Returns an empty, stopped runner. The caller owns it. */
kf_runner *kf_runner_pool_take(kf_runner_pool *pool, kf_runner_kind kind, bool strict,
                               const volatile int *stop, kf_error *error);
/* Ends a runner. `unclean`: waits for its end, since work may still go on in it. Else it may die
 * while others work. */
void kf_runner_pool_retire(kf_runner_pool *pool, kf_runner *runner, bool unclean);
/* Waits until all retired runners are gone. `all`: waits until all starting runners are ready,
 * too. */
bool kf_runner_pool_settle(kf_runner_pool *pool, bool all, kf_error *error);
/* Frees device memory that runners in Python hold (kf_runner_attach), before the judge measures how
 * much is free. Waits until retired runners with an attachment are gone. Ends the baseline's runner
 * if its memory does not suit `problem`. */
void kf_runner_pool_make_room(kf_runner_pool *pool, const char *baseline, bool strict,
                              const kf_problem *problem);
/* Stops the runners that still start, and lets them continue. */
void kf_runner_pool_pause(kf_runner_pool *pool);
void kf_runner_pool_resume(kf_runner_pool *pool);

/* Returns the task's own runner of a role (KF_ROLE_BASELINE, KF_ROLE_ORACLE) with `binary` loaded.
 * NULL if the pool keeps no runner that can serve it. A runner in Python may have another task's
 * plan loaded; *from_another is true then. The runner loads the new plan, and runner.py removes
 * every trace of the old one. */
kf_runner *kf_runner_pool_take_trusted(kf_runner_pool *pool, kf_role role, const char *binary,
                                       bool strict, const kf_problem *problem,
                                       const volatile int *stop, bool *from_another);
/* Gives a runner of the task's own back to the pool. */
void kf_runner_pool_keep_trusted(kf_runner_pool *pool, kf_role role, const char *binary,
                                 bool strict, kf_runner *runner);
/* Ends both, before a measurement in fresh processes or after a fault of the device. */
void kf_runner_pool_drop_trusted(kf_runner_pool *pool);

/* Enough for a 95 % interval of the median. */
#define KF_SOLO_BATCHES 7
/* Figures of a baseline that was measured without a candidate. The next job on the same runner can
 * use them. The pool keeps them as long as the runner, and for some seconds only, since a machine
 * drifts. */
typedef struct kf_known {
    /* The task's hash. */
    char task[KF_HASH_HEX];
    int workload;
    /* kf_now() */
    double at;
    /* The seconds for timing, and the wanted length of a batch. */
    double seconds, batch;
    /* Of a batch. */
    uint32_t sets, calls;
    /* Seconds. */
    double call, empty_batch;
    /* Seconds, as in kf_measurement. */
    double set_cost, pair_time;
    size_t solo_count;
    double solo_seconds[KF_SOLO_BATCHES], solo_woken[KF_SOLO_BATCHES];
} kf_known;
void kf_runner_pool_learn(kf_runner_pool *pool, const kf_known *known);
void kf_runner_pool_unlearn(kf_runner_pool *pool, const char *task, int workload);
/* Returns fresh figures for about `seconds` of timing; NULL without any. They are valid until the
 * pool learns or unlearns. */
const kf_known *kf_runner_pool_recall(const kf_runner_pool *pool, const char *task, int workload,
                                      double seconds);

bool kf_runner_pool_has_trusted(const kf_runner_pool *pool, kf_role role, const char *binary,
                                bool strict);
/* True if kf_runner_pool_take_trusted will return a runner. `problem`: as in
 * kf_device_operations.suits; NULL if unknown. */
bool kf_runner_pool_can_serve(const kf_runner_pool *pool, kf_role role, const char *binary,
                              bool strict, const kf_problem *problem);

#endif
