/* The runners of one judge, beyond the workload that they are used in. Where starting one takes as
 * long as measuring (a GPU's context: 0.15 s), some are started before they are needed, side by
 * side, and the task's own two go on from job to job. A runner waits empty: it has loaded nothing,
 * and what it will load is copied into a folder of its own (kf_runner_give). Candidates are never
 * kept beyond their job.
 *
 * A runner in Python takes even longer on any device, so they are started ahead on the CPU as well.
 *
 * Starting and dying runners keep the device busy. So kf_runner_pool_settle waits for the dying
 * before anything is timed, and starting ones stop for as long as a batch runs
 * (kf_runner_pool_pause): a context is then made in the time that filling and comparing take. */
#ifndef KFORGE_CREW_H
#define KFORGE_CREW_H

#include "device.h"
#include "kforge/hash.h"

typedef struct kf_runner_pool kf_runner_pool;

kf_runner_pool *kf_runner_pool_new(kf_device *device); /* borrowed; NULL when out of memory */
void kf_runner_pool_free(kf_runner_pool *pool);
KF_DEFINE_AUTO(kf_runner_pool, kf_runner_pool_free)

/* Starts runners of a kind until `count` of it wait, and does not wait for them. Does nothing where
 * starting one is quick. What fails here fails again, and is reported, when one is taken. */
void kf_runner_pool_expect(kf_runner_pool *pool, kf_runner_kind kind, bool strict, size_t count);
/* Runners of a kind that were started so far, for whatever. */
size_t kf_runner_pool_started(const kf_runner_pool *pool, kf_runner_kind kind);
/* Ends those of a kind that wait. */
void kf_runner_pool_forget(kf_runner_pool *pool, kf_runner_kind kind);
/* An empty runner, stopped. The caller's. */
kf_runner *kf_runner_pool_take(kf_runner_pool *pool, kf_runner_kind kind, bool strict,
                               const volatile int *stop, kf_error *error);
/* Ends a runner: at once where `unclean`, because something may still be going on in it; else it
 * may die while others work. */
void kf_runner_pool_retire(kf_runner_pool *pool, kf_runner *runner, bool unclean);
/* Waits until all that were retired are gone; with `all` also until all that were started are
 * ready. */
bool kf_runner_pool_settle(kf_runner_pool *pool, bool all, kf_error *error);
/* A runner in Python holds device memory of the judge's for its results (kf_runner_attach), as much
 * as there was to have. Waits until those that were retired are gone, and until the baseline's is
 * where its memory does not suit `problem`: what there is to have is measured next. Runners that
 * hold none are left alone. */
void kf_runner_pool_make_room(kf_runner_pool *pool, const char *baseline, bool strict,
                              const kf_problem *problem);
/* Stops what is still starting, and lets it go on. */
void kf_runner_pool_pause(kf_runner_pool *pool);
void kf_runner_pool_resume(kf_runner_pool *pool);

/* The task's own runners (KF_ROLE_BASELINE, KF_ROLE_ORACLE) with `binary` loaded. Take: NULL when
 * none is kept, or one with another binary. One in Python loads another task's plan as well
 * (runner.py sees to it that nothing of the one before stays), and *from_another says so. Keep:
 * takes it over. Drop: both, before something is measured in fresh processes or after something
 * happened to the device. */
kf_runner *kf_runner_pool_take_trusted(kf_runner_pool *pool, kf_role role, const char *binary,
                                       bool strict, const kf_problem *problem,
                                       const volatile int *stop, bool *from_another);
void kf_runner_pool_keep_trusted(kf_runner_pool *pool, kf_role role, const char *binary,
                                 bool strict, kf_runner *runner);
void kf_runner_pool_drop_trusted(kf_runner_pool *pool);
/* What measuring a workload found out about its baseline with no candidate there. It is as good for
 * the next job on the same runner as for the one that found it, and kept as long as that runner,
 * though never for long: a machine drifts. */
#define KF_SOLO_BATCHES 7 /* enough for a 95 % interval of the median */
typedef struct kf_known {
    char task[KF_HASH_HEX]; /* its hash */
    int workload;
    double at;                  /* kf_now() */
    double seconds, batch;      /* that there were for timing it; of a batch to aim at */
    uint32_t sets, calls;       /* that a batch needs */
    double call, empty_batch;   /* seconds */
    double set_cost, pair_time; /* seconds, as in kf_measurement */
    size_t solo_count;
    double solo_seconds[KF_SOLO_BATCHES], solo_woken[KF_SOLO_BATCHES];
} kf_known;
void kf_runner_pool_learn(kf_runner_pool *pool, const kf_known *known);
void kf_runner_pool_unlearn(kf_runner_pool *pool, const char *task, int workload);
/* NULL: nothing that is fresh, for about so many seconds of timing. Valid until the next call that
 * changes it. */
const kf_known *kf_runner_pool_recall(const kf_runner_pool *pool, const char *task, int workload,
                                      double seconds);

bool kf_runner_pool_has_trusted(const kf_runner_pool *pool, kf_role role, const char *binary,
                                bool strict);
/* Will there be one to take? `problem` as in kf_device_operations.suits; NULL: not known yet. */
bool kf_runner_pool_can_serve(const kf_runner_pool *pool, kf_role role, const char *binary,
                              bool strict, const kf_problem *problem);

#endif
