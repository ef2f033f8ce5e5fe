/* `kforge bench`: judges samples of each task of a suite and computes scores.
 *
 *   suite -> plan -> runs in the store -> result (bench_result.h) -> reports
 *
 * bench_shards.c fills the runs with replies of models, bench_judge.c with existing solutions.
 *
 * The store has no object for a bench. A bench is the set of runs that hold its description in
 * their options, one run for each task. So a bench can be resumed, merged, exported and shown like
 * any run. Each run holds the whole description.
 *
 * Ownership: structs here own their texts. kf_bench_…_clear frees them and leaves zeros.
 */
#ifndef KFORGE_AGENT_BENCH_H
#define KFORGE_AGENT_BENCH_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "event_stream.h"
#include "kforge/hash.h"
#include "kforge/store.h"
#include "search.h"

#define KF_BENCH_SCHEMA "kforge-bench/1"
#define KF_SUITE_SCHEMA "kforge-suite/1"
/* maximum of tasks in a suite */
#define KF_BENCH_TASKS 10000
/* levels of folders below the suite that are searched for tasks */
#define KF_BENCH_DEPTH 3
/* maximum of tasks that are searched at a time */
#define KF_BENCH_SHARDS 64

/* ---- the suite (bench_suite.c) --------------------------------------------------------------- */

typedef struct kf_bench_task {
    /* name of the task, or of its folder if it can't be loaded. Names of tasks without a fault are
     * unique in a suite. */
    char *name;
    /* "" if only the store has the task */
    char *folder;
    /* reason why the task is not judged, or NULL */
    char *fault;
    /* rule by which the import refused the problem, with the reason in `fault`; or NULL */
    char *rule;
    char hash[KF_HASH_HEX];
    /* of its "origin"; -1 if unknown */
    int64_t level, problem;
    /* True if the task has a problem file for PyTorch, so that solutions may be in Python
     * (docs/internals/pytorch.md) */
    bool torch;
    /* hash of the imported problem file; "" if unknown */
    char text_hash[KF_HASH_HEX];
    /* The next three describe a resumed bench. `run` is "" for a task without a run. */
    char run[KF_RUN_ID];
    bool finished;
    /* cost of earlier sessions */
    double spent_usd;
} kf_bench_task;

typedef struct kf_bench_suite {
    /* the path is absolute */
    char *name, *path;
    kf_bench_task *tasks;
    size_t count;
    /* origin of the problems, from suite.json; or NULL */
    cJSON *imports;
} kf_bench_suite;

/* Loads a suite. `path` is a folder of task folders, the folder of one task, or a suite.json
 * {"schema": "kforge-suite/1", "name", "tasks": ["FOLDER", …]} with folders relative to the file.
 * The suite.json of an import has "problems" instead. It lists all problems, also refused ones,
 * which become tasks with a fault. Other task folders next to it belong to the suite, too.
 * `only` has shell patterns; a task is loaded if its name matches one of them, or if there are no
 * patterns. KF_ERROR_INPUT if no task can be judged. */
bool kf_bench_suite_load(const char *path, const char *const *only, size_t only_count,
                         kf_bench_suite *suite, kf_error *error);
void kf_bench_suite_clear(kf_bench_suite *suite);
/* Reads "origin": {"level", "problem"} of a task.json; -1 if it is missing. */
void kf_bench_origin(const cJSON *task, int64_t *level, int64_t *problem);

/* ---- the plan (bench_plan.c) ----------------------------------------------------------------- */

typedef struct kf_bench_plan {
    char id[KF_RUN_ID];
    /* --name, or the suite's name */
    char *name;
    /* folder or file of existing solutions; NULL for a bench of models */
    char *source;
    kf_bench_suite suite;
    /* settings of each search. Model specs contain "{task}". Texts point into `options`, or belong
     * to the caller. */
    kf_search_settings search;
    const char *models[KF_SEARCH_MODELS];
    char *frozen[KF_SEARCH_MODELS];
    /* budget of all tasks together; 0 for no limit */
    double cost_usd;
    /* extra baselines for the best candidates; only for a new bench */
    const char *const *extra_baselines;
    size_t extra_baseline_count;
    /* True: measure existing solutions once instead of twice */
    bool once;
    /* True: also run KernelBench's own protocol on solutions in Python */
    bool protocol;
    /* the value of "bench" in the options of its runs */
    cJSON *description;
    /* of a resumed bench */
    cJSON *options;
    /* hardware that judged a resumed bench, or NULL */
    char *hardware;
} kf_bench_plan;

/* Makes id and description of a new bench from the other fields. */
bool kf_bench_plan_begin(kf_bench_plan *plan, kf_error *error);
/* Reads a stored bench: settings, suite, and the state of each task. `id` is an id, the beginning
 * of one, "last" or "latest". Tasks without a run are loaded from `suite`, or from the suite's own
 * path if `suite` is NULL. `more` is true for a larger budget: then tasks with fewer samples than
 * wanted continue, too. */
bool kf_bench_plan_resume(kf_bench_plan *plan, kf_store *store, const char *id, const char *suite,
                          bool more, kf_error *error);
void kf_bench_plan_clear(kf_bench_plan *plan);
/* Replaces *error, which says how all workers' conditions differ from those of the resumed bench,
 * by an error for the user (KF_ERROR_INPUT). Returns false. */
bool kf_bench_conditions_changed(const kf_bench_plan *plan, kf_error *error);
/* Returns a model's spec with the task's name in place of "{task}", malloc'd. The name has only
 * letters, digits, _, - and "." in it. */
char *kf_bench_model_for(const char *spec, const char *task);
/* Returns the "bench" object in the options of a run, or NULL. The caller frees *memory. */
const cJSON *kf_bench_of_options(const char *options, cJSON **memory);
/* Finds the id of a bench by "last", "latest", an id or a unique beginning of one. */
bool kf_bench_find(kf_store *store, const char *word, char id[KF_RUN_ID], kf_error *error);

/* ---- searching (bench_shards.c) -------------------------------------------------------------- */

typedef struct kf_bench_how {
    /* path of the store; each shard opens it */
    const char *store;
    const char *const *workers;
    size_t worker_count;
    /* of local workers; NULL for any */
    const char *device;
    /* devices of `local`, one shard for each */
    const char *const *devices;
    size_t device_count;
    FILE *log;
    bool terminal;
    const volatile int *interrupts;
    /* of --events; or NULL. Shards share it. */
    kf_event_stream *events;
} kf_bench_how;

typedef struct kf_bench_outcome {
    /* tasks; failed ones by the machine, a worker or a model */
    size_t finished, failed;
    /* number of correct candidates */
    int64_t correct;
    /* spent: a budget ended before all samples were drawn */
    bool interrupted, spent;
    /* True if no worker was left. The reason is in `why`. */
    bool gave_up;
    /* tasks, or existing solutions that can be judged, with those of earlier sessions */
    size_t settled, total;
    /* the last failure */
    kf_error why;
} kf_bench_outcome;

/* Searches all unfinished tasks. Returns false if no task could be started. */
bool kf_bench_search(kf_bench_plan *plan, const kf_bench_how *how, kf_bench_outcome *outcome,
                     kf_error *error);

#endif
