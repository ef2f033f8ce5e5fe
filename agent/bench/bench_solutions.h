/* Existing solutions of a suite's problems, as other projects leave them. Three forms are
 * understood, by what the path is:
 *
 *   a folder with level_L_problem_P_sample_S_kernel.py|.cu      KernelBench's runs/RUN/; P and L
 * find the task by its "origin" a file of JSON lines with level_id, task_id, custom_code CUDA-L1's
 * release; score_… are its claims; or one object of its levels,
 *                                                                 {"1": [{"task_id", "custom_code",
 * "score"}]} a folder with TASK.cu or TASK.py, or folders TASK with such files     TASK is a task's
 * name or its folder's
 *
 * What fits no task is counted and named, nothing else happens to it. A source is read whole here;
 * it is run nowhere but by a worker.
 */
#ifndef KFORGE_AGENT_BENCH_SOLUTIONS_H
#define KFORGE_AGENT_BENCH_SOLUTIONS_H

#include "bench.h"

typedef enum kf_language { KF_LANGUAGE_CUDA, KF_LANGUAGE_PYTHON } kf_language;

typedef struct kf_bench_solution {
    size_t task; /* of the suite */
    /* what it is called: a path below the folder, or "LEVEL/PROBLEM" of a line; no two are the same
     */
    char *file;
    int64_t sample; /* as its file says, else 0, 1, … of its task */
    kf_language language;
    char *source; /* NUL-terminated; NULL: `why` */
    size_t size;
    char *why;      /* it can't be judged */
    double claimed; /* speedup, NaN none */
    /* it comes with a text of its problem (ref_code) that is not the one that the task was imported
     * from */
    bool other_text;
} kf_bench_solution;

typedef struct kf_bench_solutions {
    kf_bench_solution *items; /* by task, then sample */
    size_t count;
    size_t strangers;   /* that fit no task of the suite */
    char stranger[200]; /* the first of them */
} kf_bench_solutions;

/* KF_ERROR_INPUT: no such path, a line that is no JSON, or not one solution of the suite's tasks.
 */
bool kf_bench_solutions_load(const char *path, const kf_bench_suite *suite,
                             kf_bench_solutions *solutions, kf_error *error);
void kf_bench_solutions_clear(kf_bench_solutions *solutions);
/* "level_1_problem_19_sample_0_kernel.cu"; pure. */
bool kf_bench_kernelbench_name(const char *name, int64_t *level, int64_t *problem, int64_t *sample,
                               kf_language *language);

/* Judges those that were not, in runs of their own (bench_judge.c). */
bool kf_bench_judge(kf_bench_plan *plan, const kf_bench_solutions *solutions,
                    const kf_bench_how *how, kf_bench_outcome *outcome, kf_error *error);

#endif
