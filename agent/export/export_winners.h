/* What the package and the files for PyTorch have in common: whose winners they hold, and how their
 * texts leave.
 *
 * Held-out tasks are left out as in data sets: those that are named, and those that declare it.
 * Every text is scrubbed as in data sets; a kernel whose own text changed by that is no longer the
 * text that was judged, and whoever writes it down says so (kf_winner.as_judged). Kernels measured
 * on a GPU come before those of kforge's CPU device. */
#ifndef KFORGE_EXPORT_WINNERS_H
#define KFORGE_EXPORT_WINNERS_H

#include "export_atomic_output.h"
#include "kforge/export.h"
#include "kforge/store.h"
#include "kforge/task.h"

typedef struct kf_selection {
    const char *task, *run; /* name or hash, id; NULL all */
    bool faster;            /* only candidates whose whole interval is above 1 */
    const char *const *held_out;
    size_t held_out_count;
    bool include_held_out; /* tasks that declare "held_out" too */
    const char *const *secrets;
    size_t secret_count;
    const volatile int *interrupts; /* NULL, or it stops with an error once this is not 0, before
                                       the next candidate is read or when a file is written */
} kf_selection;

/* False with the error "interrupted" then. */
bool kf_selection_goes_on(const kf_selection *selection, kf_error *error);

typedef struct kf_selected_tasks {
    char (*hashes)[KF_HASH_HEX]; /* in the order of the store */
    size_t count, held_out;      /* held_out: left out */
    char run[KF_RUN_ID];         /* "" all */
} kf_selected_tasks;
void kf_selected_tasks_free(kf_selected_tasks *tasks);
#define kf_autoselected __attribute__((cleanup(kf_selected_tasks_free))) kf_selected_tasks

/* A task or run that is named and held out is an error that says so. */
bool kf_select_tasks(kf_store *store, const kf_selection *selection, kf_selected_tasks *tasks,
                     kf_error *error);

/* A candidate that was chosen, with its text as it leaves. */
typedef struct kf_winner {
    char hash[KF_HASH_HEX];
    char *source, *flags, *device; /* scrubbed; flags: JSON */
    size_t size;
    bool as_judged; /* source and flags are the bytes that were judged */
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
    bool reverified;  /* only candidates measured again; else they come first */
    bool faster;
    bool cuda_only; /* no Python files */
    size_t most;
} kf_winner_query;
/* Fills winners[0 … most-1], fastest first, all of one device; *count of them. */
bool kf_winners_choose(kf_store *store, const kf_winner_query *query, const kf_scrubber *scrubber,
                       kf_winner *winners, size_t *count, kf_error *error);

/* Where their files go. */
typedef struct kf_winner_files {
    const kf_selection *selection;
    kf_atomic_output *place;
    const kf_scrubber *scrubber;
    int64_t count, scrubbed;
} kf_winner_files;
/* Scrubs and writes (kf_atomic_output_write). */
bool kf_winner_put(kf_winner_files *files, const char *name, const char *text, size_t size,
                   kf_error *error);

#endif
