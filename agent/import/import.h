/* The import of problems for PyTorch as tasks: suites of files in the layouts of KernelBench,
 * robust-kbench or CUDA-L1, or a user's Model.
 *
 *   folder -> problems (import_suite.c) -> descriptions, several at a time, each in a sandbox
 * (describe.h) -> checks, one at a time (import_check.c) -> task folders (import_task.c), each
 * written completely or not at all
 *
 * A problem that can't become a task is refused with a rule and a reason, and the import continues.
 * Only an error that affects all problems (no PyTorch, no space on the disk) ends it.
 *
 * Ownership: structs own their texts. …_clear frees them and leaves zeros. No function prints. */
#ifndef KFORGE_AGENT_IMPORT_H
#define KFORGE_AGENT_IMPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/hash.h"

/* maximum of problems in one import */
#define KF_IMPORT_PROBLEMS 10000
/* name of the problem file in a task folder */
#define KF_IMPORT_FILE "problem.py"

/* ---- problems (import_suite.c) --------------------------------------------------------------- */

typedef struct kf_import_problem {
    /* name of the task: "level1_19_ReLU" */
    char *task;
    char *path; /* of the problem file */
    /* the path below the suite's folder: "KernelBench/level1/19_ReLU.py" */
    char *relative;
    /* source text that is appended to the file's own (a configuration of robust-kbench), or NULL */
    char *append;
    /* the whole text of a problem without a file of its own, or NULL. Then `path` is only its name.
     */
    char *text;
    /* the configuration, as "forward batch_size=16", or NULL */
    char *variant;
    int64_t level, problem; /* -1 if unknown */
    /* class of the module, if `append` defines another; NULL for that of the options. Static. */
    const char *class_name;
    /* True if `text` ends with KFORGE (evaluator/torch/formats/flashinfer_task.py), which only the
     * description reads */
    bool declared;
    /* True if `text` is a bundle (evaluator/torch/formats/translate.py), of which the description
     * makes the text of the problem file */
    bool bundle;
    /* rule and reason if it can't become a task; NULL */
    char *rule, *fault;
} kf_import_problem;

/* A published solution as a Python file with class ModelNew. */
typedef struct kf_import_solution {
    /* index in the suite */
    size_t problem;
    char *name, *text;
    /* speedup that its authors measured, or NaN */
    double claimed;
} kf_import_solution;

typedef struct kf_import_suite {
    /* "kernelbench", "robust-kbench", "torch" */
    char *name;
    char *folder; /* absolute */
    /* origin of the checkout, or NULL if it is not a checkout */
    char *url;
    /* commit of the checkout, or NULL */
    char *commit;
    /* SPDX identifier of the tasks' files, or NULL */
    char *license;
    kf_import_problem *problems;
    size_t count;
    kf_import_solution *solutions;
    size_t solution_count;
    /* what could not be read, one fact a line; or NULL */
    char *notes;
} kf_import_suite;

/* Levels and ids of the command line: "1..3", "2", "1,3", "19,23..29"; NULL for all. The ranges are
 * sorted. */
typedef struct kf_import_ranges {
    struct {
        int64_t low, high;
    } ranges[512]; /* enough for each of 250 problems by its number */
    size_t count;  /* 0 for all */
} kf_import_ranges;
bool kf_import_ranges_parse(const char *text, const char *what, kf_import_ranges *ranges,
                            kf_error *error);
bool kf_import_ranges_hold(const kf_import_ranges *ranges, int64_t number);

/* Finds the problems in a checkout of KernelBench, its KernelBench/ folder, or a folder with
 * level1/ … folders. KF_ERROR_INPUT if it is another folder, or no problem matches. */
bool kf_import_kernelbench(const char *folder, const kf_import_ranges *levels,
                           const kf_import_ranges *ids, kf_import_suite *suite, kf_error *error);
/* Finds the problems in a checkout of robust-kbench, its tasks/ folder, or the folder of one task.
 * Each configuration is a problem, forward and backward. `multi` selects the configurations with
 * several inputs and initialisations instead of the single ones. */
bool kf_import_robust(const char *folder, bool multi, kf_import_suite *suite, kf_error *error);
/* Finds the problems in a file of CUDA-L1's release: JSON lines with level_id, task_id and
 * ref_code. Its solutions were written for these texts. A checkout of KernelBench may have other
 * sizes, to which its claims do not apply. */
bool kf_import_cuda_l1(const char *file, const kf_import_ranges *levels,
                       const kf_import_ranges *ids, kf_import_suite *suite, kf_error *error);
/* Finds definitions, workloads and solutions of FlashInfer-Bench ("flashinfer-bench") or
 * SOL-ExecBench ("sol-execbench") below a folder, or takes one definition's file. A program in the
 * sandbox reads them (evaluator/torch/formats). Faulty definitions become problems with a fault. */
bool kf_import_definitions(const char *format, const char *path, bool strict,
                           const volatile int *stop, kf_import_suite *suite, kf_error *error);
/* Finds the problems of a format that a translator reads ("gpu-mode", "kernelbench.com", "raw")
 * below a folder, and reads their files. Files outside the checkout are not read; without a
 * checkout, outside the folder. */
bool kf_import_bundles(const char *format, const char *path, kf_import_suite *suite,
                       kf_error *error);
/* Takes one file, or all files of a folder. */
bool kf_import_file(const char *path, kf_import_suite *suite, kf_error *error);
void kf_import_suite_clear(kf_import_suite *suite);
/* For the files that find problems. Begins a suite of a folder or file; adds a problem and takes
 * ownership of `append` and `variant`; makes the names of tasks differ; finds the licence by the
 * checkout's licence file. */
bool kf_import_begin(kf_import_suite *suite, const char *name, const char *folder, kf_error *error);
bool kf_import_add(kf_import_suite *suite, const char *wanted, const char *path, int64_t level,
                   int64_t problem, char *append, char *variant, kf_error *error);
bool kf_import_tell_apart(kf_import_suite *suite, kf_error *error);
char *kf_import_license(const char *folder);
/* Finds origin (without credentials) and commit of the git checkout with this file or folder;
 * malloc'd, NULL if unknown. Reads .git and runs no program. */
void kf_import_checkout(const char *path, char **url, char **commit);

/* ---- a task folder (import_task.c) ----------------------------------------------------------- */

typedef struct kf_import_options {
    const char *output;     /* folder for the task folders */
    const char *class_name; /* NULL for "Model" */
    const char *mode;       /* "train" or "eval" */
    const char *const *patches;
    int64_t max_elements; /* 0 for no scaling */
    double seconds;       /* for each problem */
    uint64_t memory_bytes;
    int jobs; /* problems at a time */
    /* True: refer to the problem file by path and hash. False: copy it. */
    bool link;
    bool compiled;
    /* True: replace existing task folders with other content */
    bool force;
    bool strict;
    /* True: write tasks without lint, and without judging their modules */
    bool unchecked;
    /* "forbid" or "allow"; NULL for "forbid" */
    const char *aliasing;
    /* of the checks; NULL for the machine's */
    const char *device;
} kf_import_options;

/* Makes the task.json of a description. NULL on an error. `text` is the whole text of the problem
 * file. */
cJSON *kf_import_task(const kf_import_suite *suite, const kf_import_problem *problem,
                      const kf_import_options *options, const cJSON *description, const char *text,
                      size_t size, kf_error *error);
/* Returns the text of one of the further files, in which KFORGE_ENTRY became the task's entry. NULL
 * without memory. */
char *kf_import_file_text(const cJSON *task, const cJSON *file);
/* Looks at the folder that is there already. *unchanged is true if it has this content.
 * KF_ERROR_INPUT if it has other content, and `force` is not set. */
bool kf_import_look(const kf_import_problem *problem, const kf_import_options *options,
                    const cJSON *task, const cJSON *files, const char *text, size_t size,
                    bool *unchanged, kf_error *error);
/* Makes the task.json of a task that a translator wrote whole, without PyTorch: adds name, entry,
 * family, license and origin. NULL on an error. */
cJSON *kf_import_ready_task(const kf_import_suite *suite, const kf_import_problem *problem,
                            const cJSON *ready, kf_error *error);
/* Writes the task folder options->output/TASK with problem file, task.json and the files of the
 * object `files` (name: text; may be NULL), and loads it before it gets its name. *unchanged is
 * true if it existed with the same content. KF_ERROR_INPUT if other content exists (without
 * `force`), or if the task does not load. */
bool kf_import_write(const kf_import_problem *problem, const kf_import_options *options,
                     const cJSON *task, const cJSON *files, const char *text, size_t size,
                     bool *unchanged, kf_error *error);

/* ---- all of them (import_run.c) -------------------------------------------------------------- */

typedef enum kf_import_status {
    KF_IMPORT_NOT_TRIED, /* interrupted before */
    KF_IMPORT_MADE,
    KF_IMPORT_UNCHANGED,
    /* described, but it can't be judged: rule and reason */
    KF_IMPORT_UNFIT,
    /* no description: rule "error" and reason */
    KF_IMPORT_FAILED,
} kf_import_status;
const char *kf_import_status_name(kf_import_status status);

typedef struct kf_import_result {
    kf_import_status status;
    char rule[64];
    char reason[1024];
    /* class that the reason offers instead of the missing one; or "" */
    char offered[128];
    char *notes; /* joined by "; "; or "" */
    /* "batch_size=4 dim=1024"; or "" */
    char *patches;
    int64_t elements; /* of all arguments */
    int inputs, state, outputs;
    double flops;         /* of one call; 0 if unknown */
    double seconds;       /* wall clock, with the checks */
    double check_seconds; /* of lint and judging */
    /* of lint: [{"severity","rule","path","text"}], or NULL */
    cJSON *findings;
} kf_import_result;

typedef void kf_import_progress(void *context, const kf_import_problem *problem,
                                const kf_import_result *result);

/* Imports all problems. `results` has one entry for each problem, zeros before. Returns false on an
 * error that affects all problems. If *stop is not 0, it begins no further problem. `progress` is
 * called from one thread at a time. */
bool kf_import_run(const kf_import_suite *suite, const kf_import_options *options,
                   kf_import_result *results, kf_import_progress *progress, void *context,
                   const volatile int *stop, kf_error *error);
void kf_import_results_clear(kf_import_result *results, size_t count);

/* ---- the checks of a new task (import_check.c) ------------------------------------------------
 */

/* Belongs to the thread that made it, as a kf_judge does. */
typedef struct kf_import_checker kf_import_checker;
/* `device`: "cpu", "cuda:0"; NULL for the machine's. Errors: as kf_judge_new. */
kf_import_checker *kf_import_checker_new(const char *device, bool strict, kf_error *error);
void kf_import_checker_free(kf_import_checker *checker);
/* Lints a task.json with the text of KF_IMPORT_FILE and the files of kf_import_write, and judges
 * its module as a candidate, on the workloads that fit the device. If it fails, the result gets
 * KF_IMPORT_UNFIT with rule and reason. Adds lint's findings, and a note for each part that the
 * machine could not check. `flops`: of the given workloads. Deletes unseen workloads from `json`
 * that the module itself does not pass. False on an error of the caller, the machine or the task.
 */
bool kf_import_check(kf_import_checker *checker, cJSON *json, const cJSON *files, const char *text,
                     double flops, kf_import_result *result, const volatile int *stop,
                     kf_error *error);

/* ---- what is left beside the tasks (import_record.c) ----------------------------------------- */

/* Writes options->output/suite.json for `kforge bench`: every problem with its folder, or with rule
 * and reason of its refusal, and source and options of the import. Keeps entries of other imports.
 * KF_ERROR_INPUT if the file exists and is not a suite. */
bool kf_import_record(const kf_import_suite *suite, const kf_import_options *options,
                      const kf_import_result *results, kf_error *error);
/* Writes the suite's solutions as options->output/solutions/TASK/NAME.py, for those tasks that
 * exist. *written: how many. */
bool kf_import_write_solutions(const kf_import_suite *suite, const kf_import_options *options,
                               const kf_import_result *results, size_t *written, kf_error *error);

#endif
