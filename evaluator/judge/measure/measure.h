/* Measuring one workload: is the candidate right on every set that is compared, does it keep the
 * contract, how long do its calls take beside the baseline's. measure.c orders the batches, check.c
 * compares; stats.h says what the times mean. */
#ifndef KFORGE_MEASURE_H
#define KFORGE_MEASURE_H

#include "clock.h"
#include "runner_pool.h"
#include "device.h"
#include "kforge/job.h"
#include "kforge/verdict.h"
#include "parallel.h"
#include "input_secret.h"

typedef struct kf_workbench {
    kf_device *device;
    kf_parallel *parallel;
    const kf_job_options *options;
    const char *const *libraries; /* that the candidate may load; NULL-terminated, may be NULL */
    const kf_task *task;
    kf_runner_kind kinds[3];           /* by role */
    const kf_task_file *baseline_file; /* the baseline's source */
    bool compiled;                     /* a baseline for PyTorch goes through torch.compile */
    const kf_problem *problem;
    int workload; /* its number: keys differ between workloads */
    int attempt;  /* 0, and 1 for the second measurement of `verify` */
    bool frozen;  /* modules keep the weights that their constructors draw */
    /* PyTorch computes convolutions and recurrent layers in f32, also where it might in tf32 */
    bool full_f32;
    const char *candidate, *baseline, *oracle; /* binaries */
    /* NULL when `candidate` is there. Else it waits for the build and returns the path; NULL: there
     * is nothing to measure, and *wrong says whether that is because the judge failed (the error is
     * set). */
    const char *(*await_candidate)(void *context, bool *wrong, kf_error *error);
    void *await_context;
    kf_build *build; /* the candidate's, once it is there: its report tells of its dry run */
    kf_runner_pool *pool;
    size_t spare; /* runners to start beyond those that this workload needs */
    /* the candidate's runner, where one serves all workloads of a round; NULL where each has its
     * own */
    kf_runner **going;
    /* the candidate's hardware counters will be wanted: a runner for that may be started */
    bool counts;
    bool last; /* no other workload follows in this round */
    const kf_secret *secret;
    double seconds; /* for timing this workload */
    /* the job's, with what earlier workloads took of it */
    kf_clock clock;
    const volatile int *stop; /* may be NULL */
    kf_verdict *verdict;
    kf_workload_verdict *result; /* of the verdict */
    int layers;                  /* set: sandbox layers of the candidate's runner */
    bool abandoned;              /* set: await_candidate had nothing */
    bool secondhand;             /* set: one of the task's own runners has served another task */
    bool freezes; /* set: wrong, but would be right with frozen weights, which the task admits */
    /* set: in tf32, where PyTorch may take it, the baseline is so far from the truth that it is no
     * measure */
    bool coarse;
} kf_workbench;

/* Fills bench->result. False when judge or machine failed, or on the caller's stop flag
 * (KF_ERROR_BUSY). */
bool kf_measure_workload(kf_workbench *bench, kf_error *error);

#endif
