/* Measures one workload: is the candidate right on every set that is compared, does it keep the
 * contract, and how long do its calls take compared with the baseline's. README.md says which file
 * does what. */
#ifndef KFORGE_MEASURE_H
#define KFORGE_MEASURE_H

#include "clock.h"
#include "runner_pool.h"
#include "device.h"
#include "kforge/job.h"
#include "kforge/verdict.h"
#include "parallel.h"
#include "input_secret.h"

/* The programs of a workload. */
typedef struct kf_programs {
    /* paths of binaries */
    const char *candidate, *baseline, *oracle;
    /* the baseline's source */
    const kf_task_file *baseline_file;
    /* the baseline is for PyTorch, and goes through torch.compile */
    bool compiled;
    /* NULL if `candidate` is there. Else it waits for the build and returns the path, or NULL if
     * there is no binary to measure. Then *wrong is true if the judge failed, and the error is set.
     */
    const char *(*await_candidate)(void *context, bool *wrong, kf_error *error);
    void *await_context;
    /* of the candidate, once it is there: its report speaks of the dry run */
    kf_build *build;
} kf_programs;

/* How modules of PyTorch compute in this round. */
typedef struct kf_module_options {
    /* they keep the weights that their constructors draw */
    bool frozen;
    /* convolutions and recurrent layers are computed in f32, also where tf32 is allowed */
    bool full_f32;
} kf_module_options;

/* What else the judge measures in this round, as far as runners can be started ahead for it. */
typedef struct kf_round_plan {
    /* the candidate's runner, if one serves all workloads of the round; NULL if each has its own */
    kf_runner **candidate_runner;
    /* runners to start besides those of this workload */
    size_t spare;
    /* hardware counters of the candidate follow, and a runner for that may be started */
    bool counts;
    /* no other workload follows */
    bool last;
    /* rounds before this one that events from outside the candidate's process ended */
    int outside_before;
} kf_round_plan;

/* The same event from outside in so many rounds is the candidate's doing. */
#define KF_OUTSIDE_ROUNDS 5

/* What a measurement finds out besides the verdict. */
typedef struct kf_workbench_findings {
    /* sandbox layers of the candidate's runner */
    int layers;
    /* await_candidate had no binary */
    bool abandoned;
    /* one of the task's own runners has served another task */
    bool secondhand;
    /* wrong, but it would be right with frozen weights, which the task admits */
    bool freezes;
    /* in tf32, where PyTorch may use it, the baseline is too inexact to compare with */
    bool coarse;
    /* a signal that the judge did not send ended or continued a runner; the candidate's */
    bool outside, outside_candidate;
} kf_workbench_findings;

typedef struct kf_workbench {
    kf_device *device;
    kf_parallel *parallel;
    const kf_job_options *options;
    /* that the candidate may load; NULL-terminated, may be NULL */
    const char *const *libraries;
    const kf_task *task;
    kf_runner_kind kinds[3]; /* by role */
    kf_programs programs;
    kf_module_options modules;
    const kf_problem *problem;
    int workload; /* its number: keys differ between workloads */
    int attempt;  /* 0, and 1 for the second measurement of `verify` */
    kf_runner_pool *pool;
    kf_round_plan round;
    const kf_secret *secret;
    double seconds; /* for timing this workload */
    /* the job's, with what earlier workloads took of it */
    kf_clock clock;
    /* seconds in which other processes timed on the device */
    double waited;
    const volatile int *stop; /* may be NULL */
    kf_verdict *verdict;
    kf_workload_verdict *result; /* of the verdict */
    kf_workbench_findings found;
} kf_workbench;

/* Fills bench->result and bench->found. False if the judge or the machine failed, or if *stop was
 * set (KF_ERROR_BUSY). */
bool kf_measure_workload(kf_workbench *bench, kf_error *error);

#endif
