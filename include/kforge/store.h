/* The store: one SQLite database of tasks, runs, attempts, candidates, verdicts with their raw
 * samples, counters, model calls and notes. Columns hold the data that the search decides on. All
 * other data is JSON or blobs.
 *
 * Shape. A *run* is a sequence of numbered *attempts*. An attempt has an outcome
 * (kf_attempt_outcome), and may name a *candidate* and a *verdict* on it. A candidate is a source
 * with compiler flags: one row for each task and content hash, which all runs share. It has as many
 * verdicts as it was measured. The candidates of a run that have a verdict are the *population* of
 * the run, from which the search draws parents. One verdict stands for a candidate: the latest,
 * with five exceptions:
 *   - A verdict that blames the machine, the task or the judge replaces no other verdict.
 *   - An unverified `correct` never replaces a re-verified one.
 *   - Of two `correct`, one with a much wider interval never replaces the other.
 *   - `correct` without a speedup never replaces one with a speedup.
 *   - `correct` never replaces a wrong result, a broken contract or cheating. One observation
 * proves these, and a run without them proves nothing.
 *
 * Transactions. Every function that writes is one transaction. The store runs WAL with
 * synchronous=FULL: after the function returned true, its data survives kill -9 and power loss.
 * kf_store_begin and kf_store_commit group many writes into one transaction with one fsync. The
 * data of a group is durable once kf_store_commit has returned true. Readers in other processes
 * never block and never see a part of a transaction. A second writer waits up to
 * KF_STORE_BUSY_SECONDS, then gets KF_ERROR_BUSY. Keep groups short: kf_store_begin takes the write
 * lock.
 *
 * Ownership. The caller owns the strings in `..._new` structs. Result structs start zeroed. A
 * function that fills one puts all its strings into one allocation, `memory`, its first field, and
 * frees the allocation that was there before. So one struct serves a whole loop. Declare it as
 * `kf_autoresult kf_store_run run = {0};`, or release it with kf_store_clear(&run). Text fields of
 * a filled struct are never NULL: "" means not known.
 *
 * Threads. A kf_store belongs to one thread and to the process that opened it. Do not use it across
 * fork: open another one there.
 *
 * Errors. KF_ERROR_INPUT: not a store, a store of a newer version or with tables, views or triggers
 * that kforge did not make, a folder, an unknown or ambiguous id. KF_ERROR_IO: the disk is full;
 * the store is unreadable, read-only, damaged, or was deleted or replaced. KF_ERROR_BUSY: locked.
 * KF_ERROR_MEMORY. KF_ERROR_LIMIT: a text over KF_STORE_BLOB_BYTES.
 */
#ifndef KFORGE_STORE_H
#define KFORGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/hash.h"
#include "kforge/verdict_types.h"

/* $KFORGE_STORE_PATIENCE overrides it. */
#define KF_STORE_BUSY_SECONDS 30
/* the largest single text, uncompressed */
#define KF_STORE_BLOB_BYTES (256u << 20)
/* bytes of a run id: 10 characters of Crockford's base32 in lower case, and the NUL */
#define KF_RUN_ID 11

typedef struct kf_store kf_store;

/* Frees the strings of any result struct below (its first field) and leaves it reusable. */
static inline void kf_store_clear(void *result)
{
    void **memory = (void **)result;
    free(*memory);
    *memory = NULL;
}
#define kf_autoresult __attribute__((cleanup(kf_store_clear)))

/* ---- opening --------------------------------------------------------------------------------- */

typedef enum kf_store_mode {
    /* The store must exist. Nothing is written, not even a migration. */
    KF_STORE_READ,
    /* The store must exist. An older version is migrated. */
    KF_STORE_WRITE,
    /* The same, but a missing or empty store is made, with its folder. */
    KF_STORE_CREATE,
} kf_store_mode;

/* Returns $KFORGE_STORE, else $XDG_DATA_HOME/kforge/kforge.db, else
 * $HOME/.local/share/kforge/kforge.db; malloc'd. */
char *kf_store_default_path(kf_error *error);
/* Opens `path`, or the default path if it is NULL. */
kf_store *kf_store_open(const char *path, kf_store_mode mode, kf_error *error);
/* Closes a store, and rolls an open group back. `store` may be NULL. */
void kf_store_close(kf_store *store);
KF_DEFINE_AUTO(kf_store, kf_store_close)
/* Returns the path, borrowed. */
const char *kf_store_path(const kf_store *store);
/* True if the path still names the open file. If it does not, writes fail with KF_ERROR_IO. */
bool kf_store_is_there(kf_store *store);
/* Returns the newest schema version that this build knows. */
int kf_store_schema(void);
/* Checks the schema, pages, indices, references, counts against rows, verdicts against their JSON,
 * candidates against their hash, the checksum of every text, and the sum over the rows of every
 * table. The first problem becomes the error (KF_ERROR_IO; KF_ERROR_INPUT for the schema). Of
 * damaged texts it names the first twelve, each by its table and id. */
bool kf_store_check(kf_store *store, kf_error *error);
/* Counts the attempts with the verdict of another text (kf_store_attempt.unverified). */
bool kf_store_unverified(kf_store *store, int64_t *count, kf_error *error);

/* Makes calls fail with KF_ERROR_IO, "interrupted", soon after *interrupts is no longer 0. The
 * pointer is borrowed. NULL takes it back. */
void kf_store_set_interrupt(kf_store *store, const volatile int *interrupts);

/* ---- groups ---------------------------------------------------------------------------------- */

/* Opens a group of writes. A write that fails undoes the whole group: kf_store_in_group is false
 * then, and the caller writes everything since kf_store_begin again. */
bool kf_store_begin(kf_store *store, kf_error *error);
/* The same, but its commit does not wait for the disk. The data survives the end of the process at
 * once, and a power failure from the next ordinary commit on. */
bool kf_store_begin_quick(kf_store *store, kf_error *error);
bool kf_store_commit(kf_store *store, kf_error *error);
void kf_store_rollback(kf_store *store);
bool kf_store_in_group(const kf_store *store);

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Stores a bundle, the JSON text of kf_task_bundle, under the task's content hash. Storing it again
 * changes nothing. */
bool kf_store_put_task(kf_store *store, const char *hash, const char *name, const char *bundle,
                       size_t size, kf_error *error);
/* Returns the text of a bundle, malloc'd and NUL-terminated. KF_ERROR_INPUT if the store has no
 * task of this hash. `size` may be NULL. */
char *kf_store_task_bundle(kf_store *store, const char *hash, size_t *size, kf_error *error);

typedef struct kf_store_task {
    void *memory;
    char hash[KF_HASH_HEX];
    const char *name;
    /* seconds since 1970 */
    double created;
    int64_t runs, candidates;
} kf_store_task;

/* Finds a task by its name, its content hash, or a unique prefix of the hash of at least 4 digits.
 * Of several tasks of one name it finds the latest. */
bool kf_store_find_task(kf_store *store, const char *hash_or_name, kf_store_task *task,
                        kf_error *error);

/* ---- runs ------------------------------------------------------------------------------------ */

typedef enum kf_run_status {
    KF_RUN_RUNNING,
    KF_RUN_FINISHED,
    KF_RUN_INTERRUPTED,
    KF_RUN_FAILED
} kf_run_status;
const char *kf_run_status_name(kf_run_status status);

typedef struct kf_store_run_new {
    /* The hash of a task that is stored already. */
    const char *task;
    /* The hardware, with a name that is the same on each machine of its kind: "NVIDIA H200", "cpu
     * AMD EPYC 9654". */
    const char *device;
    /* JSON of all settings that decide what the run does */
    const char *options;
    uint64_t seed;
    /* opaque search state, may be NULL */
    const void *state;
    size_t state_size;
} kf_store_run_new;

typedef struct kf_store_run {
    void *memory;
    char id[KF_RUN_ID];
    char task[KF_HASH_HEX];
    const char *task_name, *device, *host, *options;
    uint64_t seed;
    /* KF_RUN_RUNNING also if its process died: see `alive` */
    kf_run_status status;
    /* True if the owning process lives. A process on another host counts as alive if it wrote in
     * the last 10 minutes. */
    bool alive;
    /* seconds since 1970; `ended` is NaN while running */
    double started, updated, ended;
    /* attempts made, candidates in the population, and members of it that stand as correct */
    int64_t attempts, judged, correct;
    /* The first by the rank of kf_store_best, 0 for no candidate. The baseline never counts. It may
     * be slower than the baseline. */
    int64_t best;
    /* NaN if `best` is 0 */
    kf_interval best_speedup;
    bool best_reverified;
} kf_store_run;

/* Starts a run that this process owns. Ids sort by start time: base32 of the seconds since 2025 and
 * of 20 random bits. */
bool kf_store_begin_run(kf_store *store, const kf_store_run_new *run, char id[KF_RUN_ID],
                        kf_error *error);
/* Takes a stopped run over: its status becomes running, its owner this process. KF_ERROR_BUSY while
 * another living process owns it. */
bool kf_store_resume_run(kf_store *store, const char *id, kf_error *error);
bool kf_store_end_run(kf_store *store, const char *id, kf_run_status status, kf_error *error);
/* True for "last" and "latest", which can't begin an id. */
bool kf_store_means_latest(const char *word);
/* Finds a run by its id or a unique prefix of it, or the latest run by either of these words.
 * KF_ERROR_INPUT if no run matches or several do. */
bool kf_store_find_run(kf_store *store, const char *id_or_prefix, kf_store_run *run,
                       kf_error *error);
/* Finds the latest run of `task` (hash; NULL: any task). With `unfinished` it skips finished runs.
 * *found is false if no run is left. */
bool kf_store_latest_run(kf_store *store, const char *task, bool unfinished, kf_store_run *run,
                         bool *found, kf_error *error);
/* Reads the search state as it was written last, malloc'd. *state is NULL and *size 0 if the run
 * has no state. */
bool kf_store_run_state(kf_store *store, const char *id, char **state, size_t *size,
                        kf_error *error);
/* Replaces the search state alone. kf_store_record does so together with an attempt. */
bool kf_store_save_state(kf_store *store, const char *id, const void *state, size_t size,
                         kf_error *error);

/* ---- recording ------------------------------------------------------------------------------- */

typedef enum kf_attempt_outcome {
    /* a new verdict */
    KF_ATTEMPT_JUDGED,
    /* source and flags were judged before, and that verdict counts here too */
    KF_ATTEMPT_KNOWN,
    /* the machine code was judged before, and that verdict counts here too */
    KF_ATTEMPT_SAME_CODE,
    /* a new verdict on a candidate of this run, measured again */
    KF_ATTEMPT_REVERIFIED,
    /* no reply */
    KF_ATTEMPT_MODEL_FAILED,
    /* a reply without usable code */
    KF_ATTEMPT_NO_SOURCE,
    /* edits that do not apply */
    KF_ATTEMPT_BAD_EDIT,
    /* not judged: not novel, or over a limit */
    KF_ATTEMPT_REJECTED,
    /* no verdict: the worker died or the budget ended */
    KF_ATTEMPT_LOST,
    KF_ATTEMPT_OUTCOME_COUNT
} kf_attempt_outcome;
/* Returns "no_source" for KF_ATTEMPT_NO_SOURCE, and so on. */
const char *kf_attempt_outcome_name(kf_attempt_outcome outcome);

typedef struct kf_store_parent {
    int64_t candidate;
    /* "base", "crossed", "exemplar", "tuned" */
    const char *role;
} kf_store_parent;

/* Computes the content hash of a candidate: SHA-256 over source and flags, each framed by its
 * length. */
void kf_store_candidate_hash(const char *source, size_t size, const char *const *flags,
                             size_t flag_count, char hex[KF_HASH_HEX]);

/* The texts of a candidate. */
typedef struct kf_store_candidate_new {
    const char *source;
    size_t source_size;
    const char *const *flags;
    size_t flag_count;
    /* JSON such as {"BLOCK":256}, may be NULL */
    const char *tunables;
    /* JSON of the features that MAP-Elites sorts by, may be NULL */
    const char *features;
    /* kf_store_candidate_hash of the canonical source (canonical_source.h) with the flags. NULL or
     * "" if the source has no canonical form. */
    const char *canonical_hash;
} kf_store_candidate_new;

/* One finished attempt. Fields that do not apply stay zero. */
typedef struct kf_store_attempt_new {
    /* NULL outside any run (`kforge eval`): candidate and verdict are stored, but no attempt */
    const char *run;
    /* hash; needed only if `run` is NULL */
    const char *task;
    kf_attempt_outcome outcome;
    /* one line on how it ended, may be NULL */
    const char *message;
    /* "tuner", "seed", "person", "openai:gpt-5", … */
    const char *proposer;
    /* "evolve", "tune", … */
    const char *strategy;
    /* "draft", "improve", "repair_build", … */
    const char *step;
    /* from kf_store_put_model_call, 0 without a call */
    int64_t model_call;
    /* The number that the next attempt of the run had when this one began, 0 if not known. Others
     * may have ended since. */
    int64_t began;
    const kf_store_parent *parents;
    size_t parent_count;
    /* sub-population, 0 in a run without islands */
    int island;
    /* MAP-Elites cell, may be NULL */
    const char *cell;
    /* The candidate: `candidate` if the store has it already, else the source and flags in
     * `content`. Neither if the attempt yielded no candidate. The other texts of `content` are
     * stored in both cases. */
    int64_t candidate;
    kf_store_candidate_new content;
    /* The verdict: a new one with its JSON text, or the id of a stored one that is used again. */
    const kf_verdict *verdict;
    const char *verdict_json;
    size_t verdict_size;
    int64_t known_verdict;
    /* The hardware that judged. NULL: the device of the run; outside a run that of the verdict. */
    const char *device;
    /* JSON of the candidate's hardware counters on `device`, may be NULL */
    const char *counters;
    /* The search state after this attempt, which replaces the old one in the same transaction. NULL
     * keeps the old one. */
    const void *state;
    size_t state_size;
} kf_store_attempt_new;

typedef struct kf_store_recorded {
    /* number within the run, from 1 */
    int64_t attempt;
    /* 0 without one */
    int64_t candidate, verdict;
    /* True if the store did not have the candidate before. */
    bool is_new;
} kf_store_recorded;

/* Records attempt, candidate, lineage, verdict, samples, counters, population, run totals and
 * search state in one transaction. `recorded` may be NULL. */
bool kf_store_record(kf_store *store, const kf_store_attempt_new *attempt,
                     kf_store_recorded *recorded, kf_error *error);

typedef struct kf_store_model_call_new {
    const char *run; /* may be NULL */
    const char *provider, *model;
    const char *purpose; /* "improve", "critic", … */
    /* may be NULL */
    const char *system;
    const char *prompt;
    size_t prompt_size;
    /* may be NULL; may hold NUL bytes */
    const char *reply;
    size_t reply_size;
    /* JSON: temperature, max_tokens, …; may be NULL */
    const char *settings;
    /* "ok", "truncated", … */
    const char *outcome;
    /* one line, may be NULL */
    const char *message;
    /* -1 if not known */
    int64_t prompt_tokens, completion_tokens;
    /* NaN if not known */
    double cost_usd, seconds;
} kf_store_model_call_new;

/* Stores a call and returns its id, which is above 0; 0 on failure. */
int64_t kf_store_put_model_call(kf_store *store, const kf_store_model_call_new *call,
                                kf_error *error);

/* Keeps the prompt of a call that is under way, so that a killed run can ask the same again. The
 * caller chooses `tag`, a number for the call. */
bool kf_store_put_pending_call(kf_store *store, const char *run, int64_t tag, const char *prompt,
                               size_t size, kf_error *error);
/* Reads the prompt of a pending call, malloc'd; *prompt is NULL if the run has no call `tag`. */
bool kf_store_get_pending_call(kf_store *store, const char *run, int64_t tag, char **prompt,
                               kf_error *error);
/* Drops a pending call, or all of the run if `tag` is 0. */
bool kf_store_drop_pending_call(kf_store *store, const char *run, int64_t tag, kf_error *error);

typedef struct kf_store_model_call {
    void *memory;
    int64_t id;
    /* "" outside a run */
    char run[KF_RUN_ID];
    const char *provider, *model, *purpose, *settings, *outcome, *message;
    int64_t prompt_tokens, completion_tokens;
    double cost_usd, seconds, created;
} kf_store_model_call;

bool kf_store_get_model_call(kf_store *store, int64_t id, kf_store_model_call *call,
                             kf_error *error);
typedef enum kf_call_text { KF_CALL_SYSTEM, KF_CALL_PROMPT, KF_CALL_REPLY } kf_call_text;
/* Returns a text of a call exactly as it was sent or received, malloc'd; "" and size 0 if the call
 * had no text of this kind. */
char *kf_store_model_call_text(kf_store *store, int64_t id, kf_call_text which, size_t *size,
                               kf_error *error);

/* ---- candidates ------------------------------------------------------------------------------ */

/* A candidate with the verdict that stands for it: in a population if the candidate was read from
 * one, else of all its verdicts by the rule above. */
typedef struct kf_store_candidate {
    void *memory;
    int64_t id;
    char hash[KF_HASH_HEX], task[KF_HASH_HEX];
    /* JSON array of strings */
    const char *flags;
    /* JSON or "" */
    const char *tunables, *features;
    /* "" outside a population */
    char run[KF_RUN_ID];
    /* its first attempt in that run, 0 outside a population */
    int64_t attempt;
    int island;
    const char *cell;
    /* 0 for a candidate that was never judged; the fields below mean nothing then */
    int64_t verdict;
    kf_status status;
    kf_blame blame;
    const char *message, *code_hash, *device;
    /* NaN unless correct and timed */
    kf_interval speedup;
    bool reverified;
    double build_seconds, judge_seconds;
    /* time of the verdict, seconds since 1970 */
    double judged;
} kf_store_candidate;

/* Find a judged candidate of a task with its standing verdict on `device` (NULL: any device): by
 * candidate hash, by canonical hash (the candidate that was judged first), or by hash of the
 * machine code. *found is false also for a stored candidate that was never judged. */
bool kf_store_find_candidate(kf_store *store, const char *task, const char *hash,
                             const char *device, kf_store_candidate *candidate, bool *found,
                             kf_error *error);
bool kf_store_find_canonical(kf_store *store, const char *task, const char *canonical_hash,
                             const char *device, kf_store_candidate *candidate, bool *found,
                             kf_error *error);
bool kf_store_find_code(kf_store *store, const char *task, const char *code_hash,
                        const char *device, kf_store_candidate *candidate, bool *found,
                        kf_error *error);
/* Reads a candidate by its id. `run`, if not NULL, selects the verdict that stands in that run.
 * Else it is the latest on the candidate, or on one with the same machine code. KF_ERROR_INPUT if
 * the store has no candidate of this id. */
bool kf_store_get_candidate(kf_store *store, int64_t id, const char *run,
                            kf_store_candidate *candidate, kf_error *error);
/* Finds a candidate by a unique prefix of its hash, at least 4 digits, within `task` (hash; NULL:
 * all tasks). */
bool kf_store_find_candidate_prefix(kf_store *store, const char *task, const char *prefix,
                                    kf_store_candidate *candidate, kf_error *error);
/* Returns the source, malloc'd and NUL-terminated. `size` may be NULL. */
char *kf_store_source(kf_store *store, int64_t candidate, size_t *size, kf_error *error);
/* Writes the source to a file, completely or not at all. */
bool kf_store_write_source(kf_store *store, int64_t candidate, const char *path, kf_error *error);
/* Returns the JSON text of a verdict exactly as it was recorded, malloc'd. */
char *kf_store_verdict_json(kf_store *store, int64_t verdict, size_t *size, kf_error *error);
/* Reads the raw samples of one workload of a verdict. *samples is malloc'd, and NULL if the count
 * is 0. The count of an unknown workload is 0. */
bool kf_store_samples(kf_store *store, int64_t verdict, const char *workload, kf_sample **samples,
                      size_t *count, kf_error *error);

/* ---- choosing parents ------------------------------------------------------------------------ */

typedef struct kf_store_scope {
    /* Candidates of this run's population, else of `task` in all runs, else of the whole store. */
    const char *run;
    const char *task;
    /* Only candidates that were judged on this hardware; NULL: on any. */
    const char *device;
    /* In a run: only this MAP-Elites cell. */
    const char *cell;
    /* In a run: only this island; -1: any. 0 is an island, so set -1 in a run without islands. */
    int island;
    /* Only candidates that were measured again in fresh processes, or only the others. */
    bool reverified, once;
    /* In a run: not the candidate that its baseline is. */
    bool without_baseline;
} kf_store_scope;

/* Rows on demand. A cursor holds a read snapshot until kf_store_cursor_free, so free it promptly.
 * Do not write to the rows that it iterates over. */
typedef struct kf_store_cursor kf_store_cursor;
void kf_store_cursor_free(kf_store_cursor *cursor);
KF_DEFINE_AUTO(kf_store_cursor, kf_store_cursor_free)

/* Returns the correct candidates by rank: at most `limit` (up to 100,000), each once. Those that
 * were measured again come first, then the higher lower bound of the interval, then the higher
 * speedup, then the older one. All of kforge ranks by this function. Without run and task it
 * compares the speedups of different tasks as they are. */
kf_store_cursor *kf_store_best(kf_store *store, const kf_store_scope *scope, size_t limit,
                               kf_error *error);
/* The rank of a figure as numbers, for readers that rank without the store. The figure with the
 * larger first difference comes first. Of equal figures the older candidate comes first. */
#define KF_RANK_KEYS 3
void kf_store_rank(kf_interval speedup, bool reverified, double keys[KF_RANK_KEYS]);
/* True if figure `a` comes before figure `b`. */
bool kf_store_ranks_above(const double a[KF_RANK_KEYS], const double b[KF_RANK_KEYS]);
/* Returns the candidates that name `parent` as a parent when they are first proposed, in the order
 * of attempts. `run` NULL: in any run. */
kf_store_cursor *kf_store_children(kf_store *store, int64_t parent, const char *run,
                                   kf_error *error);
/* Returns the judged candidates of `task` (hash) in all runs and outside of runs, the latest
 * verdict first: at most `limit`. */
kf_store_cursor *kf_store_latest(kf_store *store, const char *task, size_t limit, kf_error *error);
/* Returns 1 and fills *candidate, 0 at the end, -1 on error. The other kf_store_next_… do the same.
 */
int kf_store_next_candidate(kf_store_cursor *cursor, kf_store_candidate *candidate,
                            kf_error *error);

/* A population is kept in buckets, so that counting members and drawing one exactly uniformly cost
 * O(log n). The bucket of a correct candidate is floor(32 log2(speedup)), clamped to ±512. It is
 * 2.2 % wide; merge neighbours for wider ones. All other candidates are in the bucket of their
 * status, KF_BUCKET_FAILED + status, and a correct candidate without a speedup is in
 * KF_BUCKET_FAILED + KF_CORRECT. */
#define KF_BUCKETS_PER_OCTAVE 32
#define KF_BUCKET_LOW (-512)
#define KF_BUCKET_HIGH 512
#define KF_BUCKET_FAILED 1000
#define KF_MAX_BUCKETS (KF_BUCKET_HIGH - KF_BUCKET_LOW + 1 + KF_STATUS_COUNT)

typedef struct kf_store_bucket {
    int bucket;
    int64_t count;
} kf_store_bucket;

/* Returns the bucket of a correct candidate. NaN: KF_BUCKET_FAILED + KF_CORRECT. */
int kf_store_bucket_of(double speedup);
/* Returns the lower edge of a bucket, a speedup. The upper edge is that of bucket + 1. */
double kf_store_bucket_edge(int bucket);
/* Reads the buckets that are not empty, in ascending order. `island` -1: of all islands. */
bool kf_store_histogram(kf_store *store, const char *run, int island,
                        kf_store_bucket buckets[KF_MAX_BUCKETS], size_t *count, kf_error *error);
/* Reads member number `rank`, from 0 on, of the buckets from `low` to `high`. For a uniform choice,
 * draw `rank` uniformly below the sum of their counts. The order follows from the history of the
 * run alone, so a resumed run draws the same candidates. *found is false if `rank` is past the end.
 */
bool kf_store_pick(kf_store *store, const char *run, int island, int low, int high, uint64_t rank,
                   kf_store_candidate *candidate, bool *found, kf_error *error);
/* Draws a correct candidate uniformly with 64 random bits. *found is false if no candidate is
 * correct. */
bool kf_store_pick_correct(kf_store *store, const char *run, int island, uint64_t random,
                           kf_store_candidate *candidate, bool *found, kf_error *error);
/* Moves a member of a population to another island and cell (NULL: no cell). */
bool kf_store_move(kf_store *store, const char *run, int64_t candidate, int island,
                   const char *cell, kf_error *error);

/* ---- history --------------------------------------------------------------------------------- */

typedef struct kf_store_attempt {
    void *memory;
    int64_t number;
    kf_attempt_outcome outcome;
    const char *message, *proposer, *strategy, *step;
    /* 0 if the attempt has no such row */
    int64_t model_call, candidate, verdict;
    /* as in kf_store_attempt_new */
    int64_t began;
    /* the island that the attempt was proposed for */
    int island;
    /* of the candidate; "" without one */
    char hash[KF_HASH_HEX];
    const char *flags, *tunables;
    /* of the verdict; they mean nothing without one */
    kf_status status;
    kf_blame blame;
    kf_interval speedup;
    bool reverified;
    double created;
    /* An older kforge may have taken the verdict from another text (migration 8 of schema.sql). */
    bool unverified;
} kf_store_attempt;

/* Returns the attempts of a run in order, from number `from` on. Numbers start at 1. */
kf_store_cursor *kf_store_attempts(kf_store *store, const char *run, int64_t from, kf_error *error);
int kf_store_next_attempt(kf_store_cursor *cursor, kf_store_attempt *attempt, kf_error *error);

typedef struct kf_store_edge {
    void *memory;
    /* candidates */
    int64_t child, parent;
    /* the attempt that proposed the child */
    int64_t attempt;
    char run[KF_RUN_ID];
    /* of ancestors: 1 for parents, 2 for grandparents, …; 0 in kf_store_family */
    int depth;
    const char *role;
} kf_store_edge;

/* Returns the family edges of a run in the order of attempts. */
kf_store_cursor *kf_store_family(kf_store *store, const char *run, kf_error *error);
/* Returns the edges from `candidate` up to its oldest ancestors within `run` (NULL: any run),
 * nearest first. A candidate has the parents of the first attempt that proposed it. */
kf_store_cursor *kf_store_ancestors(kf_store *store, int64_t candidate, const char *run,
                                    kf_error *error);
/* Returns the edges of one attempt, also of one that proposed a known candidate again. */
kf_store_cursor *kf_store_parents(kf_store *store, const char *run, int64_t attempt,
                                  kf_error *error);
int kf_store_next_edge(kf_store_cursor *cursor, kf_store_edge *edge, kf_error *error);

/* Returns the runs of `task` (hash; NULL: of all tasks), latest first. */
kf_store_cursor *kf_store_runs(kf_store *store, const char *task, kf_error *error);
int kf_store_next_run(kf_store_cursor *cursor, kf_store_run *run, kf_error *error);
/* Returns all tasks by name. */
kf_store_cursor *kf_store_tasks(kf_store *store, kf_error *error);
int kf_store_next_task(kf_store_cursor *cursor, kf_store_task *task, kf_error *error);

/* Counts the members of a population by the status of their standing verdicts. */
bool kf_store_count_statuses(kf_store *store, const char *run, int64_t counts[KF_STATUS_COUNT],
                             kf_error *error);

/* Sums over the attempts of one proposer. */
typedef struct kf_store_proposer {
    void *memory;
    const char *proposer;
    int64_t attempts, judged, correct;
    /* of the standing verdicts in a run: correct, with an interval above 1 */
    int64_t faster;
    /* of the model calls of its attempts; a figure that is not known counts as 0 */
    int64_t calls, prompt_tokens, completion_tokens;
    double cost_usd, seconds;
    /* calls with a reply and without a cost */
    int64_t unpriced;
    /* of the standing verdicts; NaN without one */
    kf_interval best_speedup;
} kf_store_proposer;
/* Returns the proposers of a run (NULL: of all runs), most attempts first. The baseline counts as
 * the proposer "baseline". */
kf_store_cursor *kf_store_proposers(kf_store *store, const char *run, kf_error *error);
int kf_store_next_proposer(kf_store_cursor *cursor, kf_store_proposer *proposer, kf_error *error);

/* Returns the calls of a run in the order of their replies: those of one provider, or all if
 * `provider` is NULL. */
kf_store_cursor *kf_store_model_calls(kf_store *store, const char *run, const char *provider,
                                      kf_error *error);
int kf_store_next_model_call(kf_store_cursor *cursor, kf_store_model_call *call, kf_error *error);

/* What a run has spent on model calls, including calls without an attempt. A figure that is not
 * known counts as 0. */
typedef struct kf_store_spent {
    int64_t calls, prompt_tokens, completion_tokens;
    double cost_usd, seconds;
    /* calls with a reply and without a cost */
    int64_t unpriced;
    /* of a run: time of judging its candidates, builds included; candidates without a verdict count
     * as 0 */
    double device_seconds;
} kf_store_spent;
bool kf_store_run_spent(kf_store *store, const char *run, kf_store_spent *spent, kf_error *error);
/* The same for the calls with one outcome ("ok", "truncated", …). kf_store_call_outcomes returns
 * the outcome with most calls first. */
typedef struct kf_store_call_outcome {
    void *memory;
    const char *outcome;
    kf_store_spent spent;
} kf_store_call_outcome;
kf_store_cursor *kf_store_call_outcomes(kf_store *store, const char *run, kf_error *error);
int kf_store_next_call_outcome(kf_store_cursor *cursor, kf_store_call_outcome *outcome,
                               kf_error *error);

/* ---- counters, ceilings and notes ------------------------------------------------------------ */

/* Returns the names of all hardware in the store, oldest first. *name is valid until the next step.
 */
kf_store_cursor *kf_store_devices(kf_store *store, kf_error *error);
int kf_store_next_device(kf_store_cursor *cursor, const char **name, kf_error *error);

/* Store and read the counters of a candidate on a device, as JSON. kf_store_record stores them,
 * too. *json is malloc'd; it is NULL, and *found false, if no counters were taken. */
bool kf_store_put_counters(kf_store *store, int64_t candidate, const char *device, const char *json,
                           kf_error *error);
bool kf_store_get_counters(kf_store *store, int64_t candidate, const char *device, char **json,
                           bool *found, kf_error *error);

/* Store and read a measured ceiling of a device: "copy_bytes_per_second", "f32_flops", …. A new
 * value replaces the old one. */
bool kf_store_put_ceiling(kf_store *store, const char *device, const char *name, double value,
                          kf_error *error);
bool kf_store_get_ceiling(kf_store *store, const char *device, const char *name, double *value,
                          bool *found, kf_error *error);

/* Notes on changes that made candidates faster or failed, for later prompts. */
typedef struct kf_store_note_new {
    /* hash; NULL for a note that holds across tasks */
    const char *task;
    /* the run that the note is from, may be NULL */
    const char *run;
    /* may be NULL */
    const char *device;
    /* "paid", "failed", "summary", … */
    const char *kind;
    const char *text;
    /* measured ratio of the new speedup to the old one, NaN if not known */
    double effect;
    /* the candidate that shows it, 0 without one */
    int64_t candidate;
} kf_store_note_new;

typedef struct kf_store_note {
    void *memory;
    int64_t id, candidate;
    /* "" without one */
    char task[KF_HASH_HEX], run[KF_RUN_ID];
    const char *device, *kind, *text;
    double effect, created;
} kf_store_note;

bool kf_store_put_note(kf_store *store, const kf_store_note_new *note, kf_error *error);
/* Returns the notes on `task` and those that hold across tasks, latest first. `task` NULL: all
 * notes.
 */
kf_store_cursor *kf_store_notes(kf_store *store, const char *task, kf_error *error);
int kf_store_next_note(kf_store_cursor *cursor, kf_store_note *note, kf_error *error);

#endif
