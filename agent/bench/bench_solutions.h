/* Existing solutions of a suite's problems, in the forms of other projects:
 *
 * - a folder with level_L_problem_P_sample_S_kernel.py or .cu: KernelBench's runs/RUN/. L and P
 *   select the task by its "origin".
 * - a file of JSON lines with level_id, task_id, custom_code: CUDA-L1's release, with its claims in
 *   score_…; or one object of its levels, {"1": [{"task_id", "custom_code", "score"}]}
 * - a folder with TASK.cu or TASK.py, or folders TASK with such files. TASK is the name of a task
 *   or of its folder. A first line KF_BENCH_CLAIM and a number claims a speedup.
 *
 * Solutions without a task in the suite are counted and ignored. Sources are read here; only
 * workers run them.
 */
#ifndef KFORGE_AGENT_BENCH_SOLUTIONS_H
#define KFORGE_AGENT_BENCH_SOLUTIONS_H

#include "bench.h"

#define KF_BENCH_CLAIM "# claimed speedup: "

typedef enum kf_language { KF_LANGUAGE_CUDA, KF_LANGUAGE_PYTHON } kf_language;

typedef struct kf_bench_solution {
    /* index in the suite */
    size_t task;
    /* unique name: a path below the folder, or "LEVEL/PROBLEM" of a line */
    char *file;
    /* number in the file name, else 0, 1, … for each task */
    int64_t sample;
    kf_language language;
    /* NUL-terminated; NULL if `why` says that it can't be judged */
    char *source;
    size_t size;
    char *why;
    /* claimed speedup, or NaN */
    double claimed;
    /* True if its own problem text (ref_code) differs from the task's */
    bool other_text;
} kf_bench_solution;

typedef struct kf_bench_solutions {
    /* ordered by task, then sample */
    kf_bench_solution *items;
    size_t count;
    /* solutions without a task in the suite, and the first of them */
    size_t unmatched_count;
    char unmatched[200];
} kf_bench_solutions;

/* Finds and reads all solutions. KF_ERROR_INPUT if the path does not exist, a line is not JSON, or
 * no solution has a task in the suite. */
bool kf_bench_solutions_load(const char *path, const kf_bench_suite *suite,
                             kf_bench_solutions *solutions, kf_error *error);
void kf_bench_solutions_clear(kf_bench_solutions *solutions);
/* Parses "level_1_problem_19_sample_0_kernel.cu". True if `name` has this form. */
bool kf_bench_kernelbench_name(const char *name, int64_t *level, int64_t *problem, int64_t *sample,
                               kf_language *language);

/* Judges all solutions without a verdict, in runs of their own (bench_judge.c). */
bool kf_bench_judge(kf_bench_plan *plan, const kf_bench_solutions *solutions,
                    const kf_bench_how *how, kf_bench_outcome *outcome, kf_error *error);

#endif
