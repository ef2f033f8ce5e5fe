/* Common parts of the package and the files for PyTorch: the choice of candidates, and the writing
 * of their texts.
 *
 * Held-out tasks are excluded as in data sets: those that the user names, and those that declare
 * it. Every text is scrubbed as in data sets. If that changes a kernel's text, it differs from the
 * judged one, and the output says so (kf_winner.as_judged). Kernels measured on a GPU come before
 * those of kforge's CPU device. */
#ifndef KFORGE_EXPORT_WINNERS_H
#define KFORGE_EXPORT_WINNERS_H

#include "export_atomic_output.h"
#include "kforge/export.h"
#include "kforge/store.h"
#include "kforge/task.h"

typedef struct kf_selection {
    /* name or hash, id; NULL for all */
    const char *task, *run;
    /* only candidates with their whole interval above 1 */
    bool faster;
    const char *const *held_out;
    size_t held_out_count;
    /* True: include tasks that declare "held_out" */
    bool include_held_out;
    const char *const *secrets;
    size_t secret_count;
    /* NULL, or a flag: once it is not 0, the export fails before the next candidate or file */
    const volatile int *interrupts;
} kf_selection;

/* True unless interrupted. Then it fails with "interrupted". */
bool kf_selection_goes_on(const kf_selection *selection, kf_error *error);

typedef struct kf_selected_tasks {
    char (*hashes)[KF_HASH_HEX]; /* in the order of the store */
    size_t count, held_out;      /* number of excluded tasks */
    char run[KF_RUN_ID];         /* "" for all */
} kf_selected_tasks;
void kf_selected_tasks_free(kf_selected_tasks *tasks);
#define kf_autoselected __attribute__((cleanup(kf_selected_tasks_free))) kf_selected_tasks

/* Selects the tasks. Fails if the named task or run is held out. */
bool kf_select_tasks(kf_store *store, const kf_selection *selection, kf_selected_tasks *tasks,
                     kf_error *error);

/* A chosen candidate, with its text for the output. */
typedef struct kf_winner {
    char hash[KF_HASH_HEX];
    char *source, *flags, *device; /* scrubbed; flags are JSON */
    size_t size;
    /* True if source and flags are the judged bytes */
    bool as_judged;
    bool on_cpu, reverified;
    int64_t verdict;
    kf_status status;
    kf_interval speedup;
} kf_winner;
void kf_winner_free(kf_winner *winner);

typedef struct kf_winner_query {
    const kf_selection *selection;
    const kf_selected_tasks *tasks;
    const char *task; /* hash */
    /* True: only candidates measured again. False: they come first. */
    bool reverified;
    bool faster;
    bool cuda_only; /* True: no Python files */
    size_t most;
} kf_winner_query;
/* Fills winners[0 … most-1], the fastest first, all of one device. *count is their number. */
bool kf_winners_choose(kf_store *store, const kf_winner_query *query, const kf_scrubber *scrubber,
                       kf_winner *winners, size_t *count, kf_error *error);

/* Finds the best candidate of a task, by the rank of kf_store_best. *found is false without one. */
bool kf_winner_best(kf_store *store, const kf_selection *selection, const kf_selected_tasks *tasks,
                    const char *task, const kf_scrubber *scrubber, kf_winner *winner, bool *found,
                    kf_error *error);

/* The output of the files. */
typedef struct kf_winner_files {
    const kf_selection *selection;
    kf_atomic_output *output;
    const kf_scrubber *scrubber;
    int64_t count;
    kf_scrub_count scrubbed;
} kf_winner_files;
/* Scrubs and writes a file (kf_atomic_output_write). */
bool kf_winner_put(kf_winner_files *files, const char *name, const char *text, size_t size,
                   kf_error *error);

#endif
