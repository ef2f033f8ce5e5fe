/* `kforge bench`: a suite of tasks, so many samples of each, and what that is worth.
 *
 *   suite ─► plan ─► runs in the store (bench_shards.c: models; bench_judge.c: existing solutions)
 * ─► result (bench_result.h) ─► reports
 *
 * A bench is no thing of its own in the store: it is the runs whose options hold its description,
 * one run a task, so that a bench goes on, is merged, exported and looked at like any run. The
 * description is in each of them, whole: whichever runs there are tell all that was planned.
 *
 * Ownership: structs here own their texts; kf_bench_…_clear releases them and leaves zeros.
 */
#ifndef KFORGE_AGENT_BENCH_H
#define KFORGE_AGENT_BENCH_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "kforge/hash.h"
#include "kforge/store.h"
#include "search.h"

#define KF_BENCH_SCHEMA "kforge-bench/1"
#define KF_SUITE_SCHEMA "kforge-suite/1"
#define KF_BENCH_TASKS 10000 /* most of a suite */
#define KF_BENCH_DEPTH 3     /* folders below the suite that are searched for tasks */
#define KF_BENCH_SHARDS 64   /* most tasks that are searched at a time */

/* ---- the suite (bench_suite.c) --------------------------------------------------------------- */

typedef struct kf_bench_task {
    /* the task's; where it can't be loaded its folder's. No two of a suite have the same that are
     * no fault */
    char *name;
    char *folder; /* "" where only the store has it */
    char *fault;  /* why it is not judged; NULL: it is */
    /* the import refused the problem by this rule, `fault` is its reason; NULL: it did not */
    char *rule;
    char hash[KF_HASH_HEX];
    int64_t level, problem; /* of its "origin", -1 none */
    /* it has a problem file for PyTorch: solutions may be Python (docs/internals/pytorch.md) */
    bool torch;
    char text_hash[KF_HASH_HEX]; /* of the problem file that it was imported from; "" not known */
    /* Of a bench that goes on. */
    char run[KF_RUN_ID]; /* "" not begun */
    bool finished;
    double spent_usd; /* by earlier sessions */
} kf_bench_task;

typedef struct kf_bench_suite {
    char *name, *path; /* path: absolute */
    kf_bench_task *tasks;
    size_t count;
    cJSON *imports; /* what suite.json says of where its problems come from, NULL */
} kf_bench_suite;

/* `path`: a folder of task folders, a task's folder, or a suite.json {"schema": "kforge-suite/1",
 * "name", "tasks": ["FOLDER", …]} with folders relative to it. One that an import wrote has
 * "problems" instead: all that were asked for, those that it refused with rule and reason, which
 * are listed as faults; task folders beside it that it does not name belong to the suite, too.
 * `only`: shell patterns that names have to match one of; none: all. A task at fault is listed with
 * its fault; without a single one that can be judged: KF_ERROR_INPUT. */
bool kf_bench_suite_load(const char *path, const char *const *only, size_t only_count,
                         kf_bench_suite *suite, kf_error *error);
void kf_bench_suite_clear(kf_bench_suite *suite);
/* "origin": {"level", "problem"} of a task.json; -1 where it has none. */
void kf_bench_origin(const cJSON *task, int64_t *level, int64_t *problem);

/* ---- the plan (bench_plan.c) ----------------------------------------------------------------- */

typedef struct kf_bench_plan {
    char id[KF_RUN_ID];
    char *name;   /* --name, or the suite's */
    char *source; /* folder or file of existing solutions; NULL: models are asked */
    kf_bench_suite suite;
    /* its models with "{task}" in them; its texts point into `options`, or are the caller's */
    kf_search_settings search;
    const char *models[KF_SEARCH_MODELS];
    char *frozen[KF_SEARCH_MODELS];
    double cost_usd; /* of all tasks together; 0 no limit */
    /* further baselines that the best are measured beside; only where it begins */
    const char *const *extra_baselines;
    size_t extra_baseline_count;
    bool once;          /* existing solutions are measured once, not twice */
    bool protocol;      /* of solutions in Python: KernelBench's own protocol, too */
    cJSON *description; /* what its runs' options hold as "bench" */
    cJSON *options;     /* of a bench that goes on */
    char *hardware;     /* that it was judged on; NULL: not begun */
} kf_bench_plan;

/* Id and description of a new bench, from all else. */
bool kf_bench_plan_begin(kf_bench_plan *plan, kf_error *error);
/* A bench that goes on, by id, prefix of it, "last" or "latest": settings, suite, and what each
 * task has come to. Tasks not begun are read from the suite's path, or `suite` where that is not
 * NULL. `more`: there is more of a budget, so tasks that drew fewer samples than asked for go on,
 * too. */
bool kf_bench_plan_resume(kf_bench_plan *plan, kf_store *store, const char *id, const char *suite,
                          bool more, kf_error *error);
void kf_bench_plan_clear(kf_bench_plan *plan);
/* Of a bench that goes on and whose workers all judge under other conditions than it was begun
 * under, which *error says: that as the user's to mend; false. */
bool kf_bench_conditions_changed(const kf_bench_plan *plan, kf_error *error);
/* A model's spec for a task: "{task}" becomes its name, which holds letters, digits, _, - and .
 * only; malloc'd. */
char *kf_bench_model_for(const char *spec, const char *task);
/* The "bench" object in options of a run; NULL: it belongs to none. *memory is the caller's. */
const cJSON *kf_bench_of_options(const char *options, cJSON **memory);
/* The id of the bench meant by "last", "latest", an id or a unique prefix. */
bool kf_bench_find(kf_store *store, const char *word, char id[KF_RUN_ID], kf_error *error);

/* ---- searching (bench_shards.c) -------------------------------------------------------------- */

typedef struct kf_bench_how {
    const char *store; /* path; each shard opens it for itself */
    const char *const *workers;
    size_t worker_count;
    const char *device;         /* of local workers, NULL any */
    const char *const *devices; /* one shard each for `local` */
    size_t device_count;
    FILE *log;
    bool terminal;
    const volatile int *interrupts;
} kf_bench_how;

typedef struct kf_bench_outcome {
    size_t finished, failed; /* tasks; failed: the machine, a worker or a model */
    int64_t correct;         /* candidates */
    bool interrupted, spent; /* spent: a budget ended before all samples were drawn */
    /* no worker was left: `why`, and how far it came, earlier sessions included */
    bool gave_up;
    size_t settled, total; /* tasks; of existing solutions those that can be judged */
    kf_error why;          /* of the last failure */
} kf_bench_outcome;

/* Works off all tasks that are not finished. False: nothing could be begun. */
bool kf_bench_search(kf_bench_plan *plan, const kf_bench_how *how, kf_bench_outcome *outcome,
                     kf_error *error);

#endif
