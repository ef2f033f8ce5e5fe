/* Importing problems for PyTorch as tasks: suites of files in KernelBench's or robust-kbench's
 * layout, or any user's Model.
 *
 *   folder ─► problems (import_suite.c) ─► descriptions, several at a time, each in a sandbox
 * (kforge/describe.h) ─► task folders (import_task.c), each there completely or not at all
 *
 * A problem that can't be a task costs nothing but its own row: it is refused with a rule and a
 * reason and the rest goes on. Only what would refuse all of them (no PyTorch, no place on the
 * disk) ends an import.
 *
 * Ownership: structs own their texts; …_clear releases them and leaves zeros. Nothing prints.
 */
#ifndef KFORGE_AGENT_IMPORT_H
#define KFORGE_AGENT_IMPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/hash.h"

#define KF_IMPORT_PROBLEMS 10000 /* most of one import */

/* ---- problems (import_suite.c) --------------------------------------------------------------- */

typedef struct kf_import_problem {
    char *task;     /* the task's name: "level1_19_ReLU" */
    char *path;     /* of the problem file */
    char *relative; /* the same below the suite's folder: "KernelBench/level1/19_ReLU.py" */
    /* source text that goes behind the file's own (robust-kbench: a configuration), or NULL */
    char *append;
    /* the whole text, where it is no file of its own: `path` then only names it; or NULL */
    char *text;
    char *variant;          /* what this one of several is: "forward batch_size=16", or NULL */
    int64_t level, problem; /* -1 none */
    /* of the module, where `append` defines another; NULL: as the options say. Static */
    const char *class_name;
} kf_import_problem;

typedef struct kf_import_suite {
    char *name;    /* "kernelbench", "robust-kbench", "torch" */
    char *folder;  /* absolute */
    char *url;     /* where the checkout came from, NULL: it is none */
    char *commit;  /* that it is at, NULL */
    char *license; /* SPDX identifier for the tasks' files, NULL */
    kf_import_problem *problems;
    size_t count;
} kf_import_suite;

/* Levels and ids as on the command line: "1..3", "2", "1,3", "19,23..29"; NULL: all. Sorted ranges.
 */
typedef struct kf_import_ranges {
    struct {
        int64_t low, high;
    } ranges[512]; /* each of 250 problems by its number, and then some */
    size_t count;  /* 0: all */
} kf_import_ranges;
bool kf_import_ranges_parse(const char *text, const char *what, kf_import_ranges *ranges,
                            kf_error *error);
bool kf_import_ranges_hold(const kf_import_ranges *ranges, int64_t number);

/* A checkout of KernelBench, its KernelBench/ folder, or a folder of level1/ … folders. Errors
 * (KF_ERROR_INPUT): none of these, or nothing in it matches. */
bool kf_import_kernelbench(const char *folder, const kf_import_ranges *levels,
                           const kf_import_ranges *ids, kf_import_suite *suite, kf_error *error);
/* A checkout of robust-kbench, its tasks/ folder, or one task's folder: one problem for each
 * configuration, forward and backward. `multi`: the configurations with several inputs and
 * initialisations, else the single ones. */
bool kf_import_robust(const char *folder, bool multi, kf_import_suite *suite, kf_error *error);
/* A file of CUDA-L1's release, JSON lines with level_id, task_id and ref_code: the problems as its
 * solutions were written for. They may be of another age than a checkout of KernelBench, with other
 * sizes, and a claim holds for them only. */
bool kf_import_cuda_l1(const char *file, const kf_import_ranges *levels,
                       const kf_import_ranges *ids, kf_import_suite *suite, kf_error *error);
/* One file, or a folder of them. */
bool kf_import_file(const char *path, kf_import_suite *suite, kf_error *error);
void kf_import_suite_clear(kf_import_suite *suite);
/* Where a file or folder is of a git checkout: its origin without credentials, and its commit;
 * malloc'd, NULL where unknown. Reads .git, runs nothing. */
void kf_import_checkout(const char *path, char **url, char **commit);

/* ---- a task folder (import_task.c) ----------------------------------------------------------- */

typedef struct kf_import_options {
    const char *output;     /* folder for the task folders */
    const char *class_name; /* NULL: "Model" */
    const char *mode;       /* "train" or "eval" */
    const char *const *patches;
    int64_t max_elements; /* 0: as large as it is */
    double seconds;       /* for each problem */
    uint64_t memory_bytes;
    int jobs;  /* problems at a time */
    bool link; /* leave the problem file where it is and name it with its hash; else it is copied */
    bool compiled;
    /* make task folders anew that are there already from another file or with other options */
    bool force;
    bool strict;
} kf_import_options;

/* task.json of a description, or NULL with what is wrong. `text` is the problem file's whole text.
 */
cJSON *kf_import_task(const kf_import_suite *suite, const kf_import_problem *problem,
                      const kf_import_options *options, const cJSON *description, const char *text,
                      size_t size, kf_error *error);
/* Writes task folder options->output/TASK: problem file and task.json, loaded once before it gets
 * its name. *unchanged: it was there with the same content. Errors: KF_ERROR_INPUT when something
 * else is there (and not `force`), or when the task does not load. */
bool kf_import_write(const kf_import_problem *problem, const kf_import_options *options,
                     const cJSON *task, const char *text, size_t size, bool *unchanged,
                     kf_error *error);

/* ---- all of them (import_run.c) -------------------------------------------------------------- */

typedef enum kf_import_status {
    KF_IMPORT_NOT_TRIED, /* interrupted before */
    KF_IMPORT_MADE,
    KF_IMPORT_UNCHANGED,
    KF_IMPORT_UNFIT,  /* described, and can't be judged: rule and reason */
    KF_IMPORT_FAILED, /* no description: rule "error" and reason */
} kf_import_status;
const char *kf_import_status_name(kf_import_status status);

typedef struct kf_import_result {
    kf_import_status status;
    char rule[64];
    char reason[1024];
    char *notes;      /* joined by "; ", "" none */
    char *patches;    /* "batch_size=4 dim=1024", "" none */
    int64_t elements; /* of all arguments */
    int inputs, state, outputs;
    double flops;   /* of one call; 0 unknown */
    double seconds; /* wall clock */
} kf_import_result;

typedef void kf_import_progress(void *context, const kf_import_problem *problem,
                                const kf_import_result *result);

/* `results`: one for each problem of the suite, zeros before. False with an error that would refuse
 * them all. *stop not 0: begins no more. `progress` is called from one thread at a time. */
bool kf_import_run(const kf_import_suite *suite, const kf_import_options *options,
                   kf_import_result *results, kf_import_progress *progress, void *context,
                   const volatile int *stop, kf_error *error);
void kf_import_results_clear(kf_import_result *results, size_t count);

/* ---- what is left beside the tasks (import_record.c) ----------------------------------------- */

/* Writes options->output/suite.json, which `kforge bench` reads: every problem asked for, with its
 * folder or with rule and reason of its refusal; the source and the options. What is there from
 * other imports stays. KF_ERROR_INPUT: a file of that name is there and no suite. */
bool kf_import_record(const kf_import_suite *suite, const kf_import_options *options,
                      const kf_import_result *results, kf_error *error);

#endif
