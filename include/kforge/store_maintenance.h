/* Maintenance of stores: merging, copying, shrinking, describing, migrating. kf_store_check in
 * store.h checks one.
 *
 * Merging is a union by content. Rows with the same content hash, run id or text are the same row
 * in every store. So merging again changes nothing, and the result does not depend on the order.
 * Only the numbers of rows do, and they mean nothing outside a file. kf_store_digest tests
 * equality. If two stores know different stages of one thing:
 *
 *   run        The version with more attempts stays, with its history and population. Of two with
 *              equally many attempts but different ones the one with the larger hash over them
 *              stays, of two with the same attempts the one that was updated later. A run that was
 *              copied and continued in both stores has two histories. Of the one that goes, the
 *              candidates, verdicts and model calls are kept, and the report counts it.
 *   standing   The rule of store.h, applied to all verdicts of a candidate on a device in the order
 *              in which they were made.
 *   task       Tasks of one name and different content are different tasks. Both stay, and the
 *              report counts them.
 *   counters, ceilings   The later ones stay.
 *
 * Each source is merged in one transaction. After a kill -9 it is in the store completely or not at
 * all, and merging again finishes the job.
 */
#ifndef KFORGE_STORE_MAINTENANCE_H
#define KFORGE_STORE_MAINTENANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/hash.h"
#include "kforge/store.h"

typedef struct kf_store_merged {
    /* rows that were new to the store */
    int64_t tasks, runs, attempts, candidates, verdicts, model_calls;
    /* runs that the source had a longer history of */
    int64_t replaced;
    /* runs with two histories, of which one was kept */
    int64_t diverged;
    /* names of tasks that now stand for several contents */
    int64_t name_clashes;
    /* True if the source is the store itself. */
    bool same;
} kf_store_merged;

/* Merges the store at `source` into `store`, which is open for writing, and adds to *merged. It
 * only reads the source, and checks every text before it copies it. The error names the source if
 * the source is at fault: KF_ERROR_INPUT if it is not a store of this version, KF_ERROR_IO if it is
 * damaged. */
bool kf_store_merge(kf_store *store, const char *source, kf_store_merged *merged, kf_error *error);

/* Closes a store that was opened with KF_STORE_CREATE. Removes its file if that call made it, the
 * store is empty, and no other process has it open. */
void kf_store_discard(kf_store *store);

/* Computes a hash over all content of the store, which does not depend on the order of rows. It
 * reads the whole store. */
bool kf_store_digest(kf_store *store, char hex[KF_HASH_HEX], kf_error *error);

typedef struct kf_store_stats {
    int schema;
    /* bytes of file and log */
    int64_t bytes;
    /* bytes that kf_store_vacuum would give back */
    int64_t unused;
    int64_t tasks, devices, runs, attempts, candidates, verdicts, correct, samples, model_calls,
        notes, blobs;
    /* bytes of texts, as they are and compressed */
    int64_t blob_bytes, blob_stored_bytes;
    int64_t verdict_bytes, verdict_stored_bytes, sample_bytes, sample_stored_bytes;
    /* times of the first and last verdict, seconds since 1970; NaN without verdicts */
    double first, last;
} kf_store_stats;
bool kf_store_get_stats(kf_store *store, kf_store_stats *stats, kf_error *error);

/* Copies the store as it is at one moment to `path`, completely or not at all, while other
 * processes write. KF_ERROR_INPUT if `path` exists. */
bool kf_store_backup(kf_store *store, const char *path, kf_error *error);

/* Drops texts that no row refers to, and gives space back to the file system. Also drops the raw
 * samples of verdicts older than `samples_days` days, from the sample table and the JSON, except of
 * correct verdicts that stand. A negative number keeps all samples. *dropped, if not NULL, is the
 * number of verdicts that lost their samples. */
bool kf_store_vacuum(kf_store *store, double samples_days, int64_t *dropped, kf_error *error);

typedef struct kf_store_deleted {
    int64_t attempts, candidates, verdicts, model_calls;
} kf_store_deleted;
/* Deletes a run (an id or a unique prefix): its attempts, population, model calls and notes. The
 * candidates and their verdicts go too, if neither another run nor a verdict outside the run refers
 * to them. KF_ERROR_BUSY while a process works on the run. */
bool kf_store_delete_run(kf_store *store, const char *id, kf_store_deleted *deleted,
                         kf_error *error);
/* Deletes a run that has nothing but its row and its state. */
bool kf_store_delete_empty_run(kf_store *store, const char *id, kf_error *error);

/* Finds the next verdict after number `after` that blames a candidate or a task. Returns 1, 0 at
 * the end, -1 on error. */
int kf_store_next_accusation(kf_store *store, int64_t after, int64_t *verdict, kf_error *error);
/* Turns a verdict into a fault of the machine, with `message`, so that its candidate is judged
 * again. Its JSON keeps the old status, blame, message and findings under "reopened". */
bool kf_store_reopen(kf_store *store, int64_t verdict, const char *message, kf_error *error);

/* Brings a file up to date, as opening it for writing does. *from and *to are schema versions. */
bool kf_store_migrate(const char *path, int *from, int *to, kf_error *error);

#endif
