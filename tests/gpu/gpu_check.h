/* Checks that need a GPU. tests/gpu/run.sh runs them. Each prints one line for each finding and
 * returns the number of failures. */
#ifndef KFORGE_GPU_CHECK_H
#define KFORGE_GPU_CHECK_H

#include "kforge/judge.h"

/* gpu_figure.c: prints a line, and appends a line of JSON to the file in GPU_FIGURES. GPU_PART
 * names the part that the figure belongs to. True if the target is reached. */
typedef enum gpu_sense { GPU_AT_LEAST, GPU_AT_MOST } gpu_sense;
bool gpu_figure(const char *name, double value, const char *unit, gpu_sense sense, double target);

int check_numbers(void); /* gpu_numbers.c: fills, poison, damage, errors, against the CPU's */
/* hostile and honest candidates. `filter` may be NULL */
int check_corpus(kf_judge *judge, const char *folder, const char *filter);
/* every seed is correct; prints its speedup */
int check_seeds(kf_judge *judge, const char *task, double seconds);
/* gpu_same.c: the baseline against itself, `times` jobs of each task in a row, built ahead as a
 * worker does. */
int check_same(kf_judge *judge, int count, char *const *tasks, int times, double seconds);
#define GPU_MAX_SAME 512
typedef struct gpu_pipeline {
    kf_judge *judge;
    const char *task;
    int count;                    /* of jobs that are looked at; some before them warm up */
    double seconds;               /* of timing, as gpu_variant; 0: the device's default */
    void (*begin)(void *context); /* when the first of those begins; may be NULL */
    void *context;
    int judged;                      /* set */
    int covered;                     /* set: of them, by an interval that holds 1 */
    double deviations[GPU_MAX_SAME]; /* set: of their speedups from 1 */
    double wall;                     /* set: seconds of all of them */
} gpu_pipeline;
int check_same_in(gpu_pipeline *line);
struct kf_measurement;
extern void (*gpu_at_end)(
    struct kf_measurement *r); /* called at the end of every timed workload, while its runners and
                                  sets are there; NULL: nothing */
struct kf_workbench;
/* called before a workload is measured; NULL: nothing */
extern void (*gpu_before)(struct kf_workbench *bench);
/* called after every timed pair; NULL: nothing */
extern void (*gpu_behind_pair)(struct kf_measurement *r);
/* seconds that the judge spent on the last job's counters */
extern double gpu_counting_seconds;
/* gpu_phases.c: also shows how the time is spent */
int check_phases(kf_judge *judge, const char *task, int times, double seconds);
int check_work(kf_judge *judge, const char *task); /* gpu_work.c: the judge's work on buffers,
                                                      compared with a copy's bandwidth */
int check_quiet(kf_judge *judge); /* gpu_quiet.c: the judge waits while the driver clears memory */
/* gpu_agree.c: compares the judge's clock with CUDA events and with ncu's figures. */
int check_agree(kf_judge *judge, int count, char *const *tasks, double seconds);
/* gpu_undisturbed.c: compares speedups with all defences on with plainly measured ones, for the
 * first timed workload of every seed. */
int check_undisturbed(kf_judge *judge, int count, char *const *tasks, double seconds);
/* gpu_reached.c: compares a candidate with the bandwidth of a copy, or with the task's further
 * baseline `baseline` unless it is NULL. */
int check_reached(kf_judge *judge, const char *task, const char *path, const char *baseline);
/* hardware counters of every seed */
int check_counters(kf_judge *judge, int count, char *const *tasks, double seconds);
/* gpu_sanitize.c: planted faults are found */
int check_sanitize(kf_judge *judge, const char *folder, const char *task);
/* gpu_torch.c: Python solutions. `filter` may be NULL */
int check_torch(kf_judge *judge, const char *folder, const char *filter);
/* Judges problems for PyTorch. The candidate is candidate.cu or candidate.py in the folder of
 * task.json, else the reference itself. With 0 seconds, nothing is timed. */
int check_problems(kf_judge *judge, double seconds, char *const *tasks, int count);
/* gpu_profile.c: how the time of a verdict is spent */
int profile(kf_judge *judge, const char *task, double seconds);
/* The baseline with machine code of its own. With negative seconds it is checked only. */
kf_job *gpu_variant(const char *task, int number, double seconds, kf_error *error);

/* gpu_load.c: measures candidates a second through workers (`program` is kforge), one for each
 * device. With several devices, it compares them with the first alone. It also tests that jobs of
 * all kinds release their resources, and that a fault gets its verdict and does not affect the next
 * job. `folder` holds hostile/ and selftest/. */
int check_throughput(const char *program, const char *task, int count, double seconds, int devices,
                     char *const *names);
int check_leaks(kf_judge *judge, const char *folder, int count);
int check_faults(kf_judge *judge, const char *folder);

#endif
