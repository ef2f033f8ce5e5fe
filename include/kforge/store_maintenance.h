/* Care of stores: merging, copying, shrinking, describing, bringing up to date. Checking is
 * kf_store_check.
 *
 * Merging is a union by content. What has the same content hash, run id or text is the same thing
 * wherever it was stored, so merging again changes nothing, a store merged with itself stays as it
 * is, and the result does not depend on the order (kf_store_digest tells). Rows are numbered
 * differently then: numbers within a file mean nothing outside it. Where two stores know the same
 * thing at different stages: run           the version with more attempts, then the one with the
 * larger hash over them, with its whole history and population; of two with the same attempts the
 * one updated later. A run that was copied and went on in both stores has two histories: of the
 *                 other one the candidates, verdicts and model calls are kept, its numbered
 * attempts are not, and the report counts it. standing      the store's rule applied to all
 * verdicts of a candidate on a device in the order in which they were made task          tasks of
 * one name and different content are different tasks and both stay; the report counts them
 *   counters, ceilings   the later ones
 * Each source is merged in one transaction: after a kill -9 it is in completely or not at all, and
 * merging again finishes the job.
 */
#ifndef KFORGE_STORE_CARE_H
#define KFORGE_STORE_CARE_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/hash.h"
#include "kforge/store.h"

typedef struct kf_store_merged {
    int64_t tasks, runs, attempts, candidates, verdicts, model_calls; /* that were new here */
    /* runs that the source knew more of */
    int64_t replaced;
    /* runs with two histories, of which one was kept */
    int64_t diverged;
    /* names of tasks that now stand for several contents */
    int64_t name_clashes;
    /* the source is the store itself */
    bool same;
} kf_store_merged;

/* Merges the store at `source` into `store`, which was opened for writing. The source is only read;
 * every blob that is copied is checked against its hash first. *merged is added to. Errors name the
 * source where it is at fault: KF_ERROR_INPUT not a store, older or newer; KF_ERROR_IO damaged. */
bool kf_store_merge(kf_store *store, const char *source, kf_store_merged *merged, kf_error *error);

/* Closes a store that was opened with KF_STORE_CREATE, and removes its file if that made it,
 * nothing was stored and nobody else has it open. */
void kf_store_discard(kf_store *store);

/* A hash over everything in the store that does not depend on the order in which it came in: equal
 * for equal content. Reads all of it. */
bool kf_store_digest(kf_store *store, char hex[KF_HASH_HEX], kf_error *error);

typedef struct kf_store_stats {
    int schema;
    int64_t bytes;  /* of file and log */
    int64_t unused; /* bytes that vacuum would give back */
    int64_t tasks, devices, runs, attempts, candidates, verdicts, correct, samples, model_calls,
        notes, blobs;
    int64_t blob_bytes, blob_stored_bytes; /* of texts, as they are and compressed */
    int64_t verdict_bytes, verdict_stored_bytes, sample_bytes, sample_stored_bytes;
    double first, last; /* seconds since 1970; NaN in an empty store */
} kf_store_stats;
bool kf_store_get_stats(kf_store *store, kf_store_stats *stats, kf_error *error);

/* A copy of one moment, at `path`, there completely or not at all; works while others write.
 * KF_ERROR_INPUT when `path` exists. */
bool kf_store_backup(kf_store *store, const char *path, kf_error *error);

/* Drops raw samples (from the sample table and the verdicts' JSON) of verdicts older than
 * `samples_days` days, but for those that are correct and stand (negative: none), drops texts that
 * nothing refers to, and gives the space back. *dropped (may be NULL): verdicts that lost their
 * samples. */
bool kf_store_vacuum(kf_store *store, double samples_days, int64_t *dropped, kf_error *error);

/* Brings the file up to date; *from and *to are schema versions. What opening for writing does too.
 */
bool kf_store_migrate(const char *path, int *from, int *to, kf_error *error);

#endif
