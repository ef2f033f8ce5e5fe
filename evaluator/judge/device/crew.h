/* The runners of one judge, beyond the workload that they are used in. Where starting one takes as long as measuring (a GPU's context: 0.15 s),
 * some are started before they are needed, side by side, and the task's own two go on from job to job. A runner waits empty: it has loaded
 * nothing, and what it will load is copied into a folder of its own (kf_peer_give). Candidates are never kept beyond their job.
 *
 * A runner in Python takes even longer on any device, so they are started ahead on the CPU as well.
 *
 * Starting and dying runners keep the device busy. So kf_crew_settle waits for the dying before anything is timed, and starting ones stop for as
 * long as a batch runs (kf_crew_pause): a context is then made in the time that filling and comparing take. */
#ifndef KFORGE_CREW_H
#define KFORGE_CREW_H

#include "device.h"
#include "kforge/hash.h"

typedef struct kf_crew kf_crew;

kf_crew *kf_crew_new(kf_device *device); /* borrowed; NULL when out of memory */
void kf_crew_free(kf_crew *crew);
KF_DEFINE_AUTO(kf_crew, kf_crew_free)

/* Starts runners of a kind until `count` of it wait, and does not wait for them. Does nothing where starting one is quick. What fails here fails
 * again, and is reported, when one is taken. */
void kf_crew_expect(kf_crew *crew, kf_runner_kind kind, bool strict, size_t count);
/* Runners of a kind that were started so far, for whatever. */
size_t kf_crew_started(const kf_crew *crew, kf_runner_kind kind);
/* Ends those of a kind that wait. */
void kf_crew_forget(kf_crew *crew, kf_runner_kind kind);
/* An empty runner, stopped. The caller's. */
kf_peer *kf_crew_take(kf_crew *crew, kf_runner_kind kind, bool strict, const volatile int *stop, kf_error *error);
/* Ends a runner: at once where `unclean`, because something may still be going on in it; else it may die while others work. */
void kf_crew_retire(kf_crew *crew, kf_peer *peer, bool unclean);
/* Waits until all that were retired are gone; with `all` also until all that were started are ready. */
bool kf_crew_settle(kf_crew *crew, bool all, kf_error *error);
/* A runner in Python holds device memory of the judge's for its results (kf_peer_attach), as much as there was to have. Waits until those that were retired are gone, and
 * until the baseline's is where its memory does not suit `problem`: what there is to have is measured next. Runners that hold none are left alone. */
void kf_crew_make_room(kf_crew *crew, const char *baseline, bool strict, const kf_problem *problem);
/* Stops what is still starting, and lets it go on. */
void kf_crew_pause(kf_crew *crew);
void kf_crew_resume(kf_crew *crew);

/* The task's own runners (KF_ROLE_BASELINE, KF_ROLE_ORACLE) with `binary` loaded. Take: NULL when none is kept, or one with another binary. One in Python
 * loads another task's plan as well (runner.py sees to it that nothing of the one before stays), and *from_another says so. Keep:
 * takes it over. Drop: both, before something is measured in fresh processes or after something happened to the device. */
kf_peer *kf_crew_take_trusted(kf_crew *crew, kf_role role, const char *binary, bool strict, const kf_problem *problem,
                              const volatile int *stop, bool *from_another);
void kf_crew_keep_trusted(kf_crew *crew, kf_role role, const char *binary, bool strict, kf_peer *peer);
void kf_crew_drop_trusted(kf_crew *crew);
/* What measuring a workload found out about its baseline with no candidate there. It is as good for the next job on the same runner as for the one that
 * found it, and kept as long as that runner, though never for long: a machine drifts. */
#define KF_ALONE_BATCHES 7 /* enough for a 95 % interval of the median */
typedef struct kf_known {
    char task[KF_HASH_HEX]; /* its hash */
    int workload;
    double at;                  /* kf_now() */
    double seconds, batch;      /* that there were for timing it; of a batch to aim at */
    uint32_t sets, calls;       /* that a batch needs */
    double call, empty_batch;   /* seconds */
    double set_cost, pair_time; /* seconds, as in kf_run */
    size_t alone_count;
    double alone_seconds[KF_ALONE_BATCHES], alone_woken[KF_ALONE_BATCHES];
} kf_known;
void kf_crew_learn(kf_crew *crew, const kf_known *known);
void kf_crew_unlearn(kf_crew *crew, const char *task, int workload);
/* NULL: nothing that is fresh, for about so many seconds of timing. Valid until the next call that changes it. */
const kf_known *kf_crew_recall(const kf_crew *crew, const char *task, int workload, double seconds);

bool kf_crew_has_trusted(const kf_crew *crew, kf_role role, const char *binary, bool strict);
/* Will there be one to take? `problem` as in kf_device_operations.suits; NULL: not known yet. */
bool kf_crew_can_serve(const kf_crew *crew, kf_role role, const char *binary, bool strict, const kf_problem *problem);

#endif
