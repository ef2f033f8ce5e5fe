/* The store: one SQLite database with everything that ever happened (tasks, runs, attempts,
 * candidates, verdicts with their raw samples, counters, model calls, notes). What the search
 * decides from is in columns; what is only carried along stays JSON or blobs.
 *
 * Shape. A *run* is a sequence of numbered *attempts*. An attempt ends somehow (kf_attempt_outcome)
 * and may name a *candidate* (source
 * + compiler flags, one row per task and content hash, shared by all runs) and a *verdict* on it
 * (as many per candidate as it was measured). The candidates of a run that have a verdict are its
 * *population*, from which parents are drawn; a candidate's standing in a population is that of one
 * verdict, chosen by this rule when there are several: the latest, but a verdict that blames the
 * machine, the task or the judge never replaces one that does not, an unverified `correct` never
 * replaces a re-verified one, and `correct` never replaces a wrong result, a broken contract or
 * cheating (seen once is proven; not seen again proves nothing).
 *
 * Transactions. Every function that writes is one transaction: it happened completely or not at
 * all, also under kill -9 and, because the store runs WAL with synchronous=FULL, under power loss
 * once it returned true. kf_store_begin … kf_store_commit groups many writes into one transaction
 * (one fsync); then they are durable only when kf_store_commit has returned true. Readers in other
 * processes never block and never see a part of a transaction; a second writer waits up to
 * KF_STORE_BUSY_SECONDS, then gets KF_ERROR_BUSY. Keep groups short: the write lock is held from
 * kf_store_begin on.
 *
 * Ownership. Strings in `..._new` structs are the caller's. Result structs start zeroed; a function
 * that fills one puts all its strings into one allocation, `memory`, its first field, and frees
 * what was there before, so that one struct serves a whole loop. Declare it as `kf_autoresult
 * kf_store_run run = {0};` or release it with kf_store_clear(&run). Text fields are never NULL in a
 * filled struct: "" stands for "not known".
 *
 * Threads. A kf_store belongs to one thread and to the process that opened it; do not use it across
 * fork. Open one each instead.
 *
 * Errors: KF_ERROR_INPUT not a store, from a newer version, a directory, unknown or ambiguous id;
 * KF_ERROR_IO disk full, unreadable, read-only, damaged; KF_ERROR_BUSY locked; KF_ERROR_MEMORY;
 * KF_ERROR_LIMIT a blob over KF_STORE_BLOB_BYTES.
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

#define KF_STORE_BUSY_SECONDS 30         /* or $KFORGE_STORE_PATIENCE seconds */
#define KF_STORE_BLOB_BYTES (256u << 20) /* largest single text, uncompressed */
/* 10 characters of Crockford's base32, lower case, and the NUL */
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
    KF_STORE_READ,   /* must exist; nothing is written, not even a migration */
    KF_STORE_WRITE,  /* must exist; an older version is migrated */
    KF_STORE_CREATE, /* as KF_STORE_WRITE, but made (with its folder) when missing or empty */
} kf_store_mode;

/* $KFORGE_STORE, else $XDG_DATA_HOME/kforge/kforge.db, else $HOME/.local/share/kforge/kforge.db;
 * malloc'd. */
char *kf_store_default_path(kf_error *error);
/* Opens `path` (NULL: the default path). The caller closes. */
kf_store *kf_store_open(const char *path, kf_store_mode mode, kf_error *error);
/* Rolls an open group back. NULL is fine. */
void kf_store_close(kf_store *store);
KF_DEFINE_AUTO(kf_store, kf_store_close)
const char *kf_store_path(const kf_store *store); /* borrowed */
int kf_store_schema(void);                        /* newest schema version this build knows */
/* Checks pages, indices, references, counts against rows, and the checksum of every text. The first
 * problem becomes the error (KF_ERROR_IO). Of damaged texts it names the first twelve, each by its
 * table and id. */
bool kf_store_check(kf_store *store, kf_error *error);

/* From now on what this store is asked ends with KF_ERROR_IO, "interrupted", soon after *interrupts
 * is no longer 0. Borrowed; NULL: no more. */
void kf_store_set_interrupt(kf_store *store, const volatile int *interrupts);

/* ---- groups ---------------------------------------------------------------------------------- */

/* A write that fails undoes the whole open group: kf_store_in_group is then false, and everything
 * since kf_store_begin has to be written again. */
bool kf_store_begin(kf_store *store, kf_error *error);
/* The same, but its commit does not wait for the disk: it survives the process, and a power failure
 * from the next other group on. For what must not hold up what comes after it. */
bool kf_store_begin_quick(kf_store *store, kf_error *error);
bool kf_store_commit(kf_store *store, kf_error *error);
void kf_store_rollback(kf_store *store);
bool kf_store_in_group(const kf_store *store);

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Stores the bundle (JSON text of kf_task_bundle) under the task's content hash. Storing it again
 * changes nothing. */
bool kf_store_put_task(kf_store *store, const char *hash, const char *name, const char *bundle,
                       size_t size, kf_error *error);
/* The bundle's text, malloc'd, NUL-terminated. KF_ERROR_INPUT when there is no such task. `size`
 * may be NULL. */
char *kf_store_task_bundle(kf_store *store, const char *hash, size_t *size, kf_error *error);

typedef struct kf_store_task {
    void *memory;
    char hash[KF_HASH_HEX];
    const char *name;
    double created; /* seconds since 1970 */
    int64_t runs, candidates;
} kf_store_task;

/* By content hash, unique prefix of it (at least 4 digits) or name (several versions: the latest).
 */
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
    const char *task;    /* hash; kf_store_put_task first */
    const char *device;  /* the hardware in words that are the same on each machine of its kind:
                            "NVIDIA H200", "cpu AMD EPYC 9654" */
    const char *options; /* JSON: all settings that decide what happens */
    uint64_t seed;
    const void *state; /* opaque search state, may be NULL */
    size_t state_size;
} kf_store_run_new;

typedef struct kf_store_run {
    void *memory;
    char id[KF_RUN_ID];
    char task[KF_HASH_HEX];
    const char *task_name, *device, *host, *options;
    uint64_t seed;
    kf_run_status status; /* KF_RUN_RUNNING also when its process died: see `alive` */
    /* the owning process still lives (this host only; elsewhere: wrote something in the last 10
     * minutes) */
    bool alive;
    double started, updated, ended; /* seconds since 1970; ended NaN while running */
    /* attempts made, candidates in the population, those of them that stand as correct */
    int64_t attempts, judged, correct;
    /* The candidate with the highest standing speedup, 0 none: of those that were measured again
     * and whose interval is above 1; where there is none, of those that were measured again; else
     * of all. Never the baseline itself. */
    int64_t best;
    kf_interval best_speedup; /* NaN when none */
    bool best_reverified;
} kf_store_run;

/* Starts a run owned by this process. The id sorts by start time (base32 of seconds since 2025,
 * then 20 random bits). */
bool kf_store_begin_run(kf_store *store, const kf_store_run_new *run, char id[KF_RUN_ID],
                        kf_error *error);
/* Takes a stopped run over: status running, owner this process. KF_ERROR_BUSY while another living
 * process owns it. */
bool kf_store_resume_run(kf_store *store, const char *id, kf_error *error);
bool kf_store_end_run(kf_store *store, const char *id, kf_run_status status, kf_error *error);
/* Is it "last" or "latest", what no id begins with? */
bool kf_store_means_latest(const char *word);
/* By id or unique prefix, or the latest by either word. KF_ERROR_INPUT says when there is none or
 * several. */
bool kf_store_find_run(kf_store *store, const char *id_or_prefix, kf_store_run *run,
                       kf_error *error);
/* The latest run, of `task` (hash; NULL: any), only those that have not finished when `unfinished`.
 * *found tells. */
bool kf_store_latest_run(kf_store *store, const char *task, bool unfinished, kf_store_run *run,
                         bool *found, kf_error *error);
/* The search state as last written, malloc'd (NULL and size 0 when there never was one: look at
 * *size). */
bool kf_store_run_state(kf_store *store, const char *id, char **state, size_t *size,
                        kf_error *error);
/* Replaces the search state alone; kf_store_record does it together with an attempt. */
bool kf_store_save_state(kf_store *store, const char *id, const void *state, size_t size,
                         kf_error *error);

/* ---- recording ------------------------------------------------------------------------------- */

typedef enum kf_attempt_outcome {
    KF_ATTEMPT_JUDGED, /* a new verdict */
    /* same source and flags as something judged before: that verdict counts here too */
    KF_ATTEMPT_KNOWN,
    KF_ATTEMPT_SAME_CODE,    /* compiles to machine code that was judged before: ditto */
    KF_ATTEMPT_REVERIFIED,   /* a new verdict on a candidate of this run, measured again */
    KF_ATTEMPT_MODEL_FAILED, /* no reply */
    KF_ATTEMPT_NO_SOURCE,    /* a reply without usable code */
    KF_ATTEMPT_BAD_EDIT,     /* edits that do not apply */
    KF_ATTEMPT_REJECTED,     /* thrown away before judging: not novel, over a limit */
    KF_ATTEMPT_LOST,         /* the worker died or the budget ended; no verdict */
    KF_ATTEMPT_OUTCOME_COUNT
} kf_attempt_outcome;
const char *kf_attempt_outcome_name(kf_attempt_outcome outcome); /* "no_source" */

typedef struct kf_store_parent {
    int64_t candidate;
    const char *role; /* "base", "crossover", "exemplar", "tuned", … */
} kf_store_parent;

/* Content address of a candidate: SHA-256 over source and flags, each framed by its length. */
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

/* One finished attempt. Everything that is not needed stays zero. */
typedef struct kf_store_attempt_new {
    /* NULL: outside any run (`kforge eval`): candidate and verdict are stored, no attempt, no
     * population */
    const char *run;
    const char *task; /* hash; only needed when run is NULL */
    kf_attempt_outcome outcome;
    const char *message;  /* one line on how it ended, may be NULL */
    const char *proposer; /* "tuner", "seed", "person", "openai:gpt-5", … */
    const char *strategy; /* "evolve", "tune", … */
    const char *step;     /* "draft", "improve", "repair_build", … */
    int64_t model_call;   /* from kf_store_put_model_call, 0 none */
    int64_t began; /* the number that the next attempt of the run had when this one began: others
                      may have ended since; 0 not known */
    const kf_store_parent *parents;
    size_t parent_count;
    int island;       /* sub-population, 0 when there are none */
    const char *cell; /* MAP-Elites cell, NULL none */
    /* The candidate: `candidate` if the store has it already, else the source and flags in
     * `content`. Neither if the attempt yielded no candidate. The other texts of `content` are
     * stored in both cases. */
    int64_t candidate;
    kf_store_candidate_new content;
    /* The verdict: a new one as struct and as its JSON text, or `known_verdict`, the id of a stored
     * one that is reused. */
    const kf_verdict *verdict;
    const char *verdict_json;
    size_t verdict_size;
    int64_t known_verdict;
    /* hardware that judged; NULL: the run's device, outside a run the verdict's */
    const char *device;
    /* JSON of hardware counters of this very candidate on `device`, may be NULL */
    const char *counters;
    /* The search state after this attempt, replacing the old one in the same transaction; NULL
     * leaves it alone. */
    const void *state;
    size_t state_size;
} kf_store_attempt_new;

typedef struct kf_store_recorded {
    int64_t attempt;   /* number within the run, from 1 */
    int64_t candidate; /* 0 none */
    int64_t verdict;   /* 0 none */
    bool is_new;       /* the candidate was not stored before */
} kf_store_recorded;

/* Records attempt, candidate, lineage, verdict, samples, counters, population, run totals and
 * search state in one transaction. `recorded` may be NULL. */
bool kf_store_record(kf_store *store, const kf_store_attempt_new *attempt,
                     kf_store_recorded *recorded, kf_error *error);

typedef struct kf_store_model_call_new {
    const char *run; /* may be NULL */
    const char *provider, *model;
    const char *purpose; /* "improve", "critic", … */
    const char *system;  /* may be NULL */
    const char *prompt;
    size_t prompt_size;
    const char *reply; /* may be NULL; may hold NUL bytes */
    size_t reply_size;
    const char *settings;                     /* JSON: temperature, max_tokens, … may be NULL */
    const char *outcome;                      /* "ok", "truncated", … */
    const char *message;                      /* one line, may be NULL */
    int64_t prompt_tokens, completion_tokens; /* -1 unknown */
    double cost_usd, seconds;                 /* NaN unknown */
} kf_store_model_call_new;

/* Returns the call's id (> 0), 0 on failure. */
int64_t kf_store_put_model_call(kf_store *store, const kf_store_model_call_new *call,
                                kf_error *error);

/* The prompt of a call that is under way, until it is stored with its reply: a run that was killed
 * asks the same once more. `tag` is the caller's. */
bool kf_store_put_pending_call(kf_store *store, const char *run, int64_t tag, const char *prompt,
                               size_t size, kf_error *error);
/* malloc'd; *prompt NULL: there is none. */
bool kf_store_get_pending_call(kf_store *store, const char *run, int64_t tag, char **prompt,
                               kf_error *error);
/* `tag` 0: of all calls of the run. */
bool kf_store_drop_pending_call(kf_store *store, const char *run, int64_t tag, kf_error *error);

typedef struct kf_store_model_call {
    void *memory;
    int64_t id;
    char run[KF_RUN_ID]; /* "" none */
    const char *provider, *model, *purpose, *settings, *outcome, *message;
    int64_t prompt_tokens, completion_tokens;
    double cost_usd, seconds, created;
} kf_store_model_call;

bool kf_store_get_model_call(kf_store *store, int64_t id, kf_store_model_call *call,
                             kf_error *error);
typedef enum kf_call_text { KF_CALL_SYSTEM, KF_CALL_PROMPT, KF_CALL_REPLY } kf_call_text;
/* One of its texts exactly as sent or received, malloc'd; "" and size 0 when there was none. */
char *kf_store_model_call_text(kf_store *store, int64_t id, kf_call_text which, size_t *size,
                               kf_error *error);

/* ---- candidates ------------------------------------------------------------------------------ */

/* A candidate with its standing: in a population when it came from one, else of its latest verdict
 * by the rule above. */
typedef struct kf_store_candidate {
    void *memory;
    int64_t id;
    char hash[KF_HASH_HEX], task[KF_HASH_HEX];
    const char *flags;               /* JSON array of strings */
    const char *tunables, *features; /* JSON or "" */
    char run[KF_RUN_ID];             /* "" outside a population */
    int64_t attempt;                 /* its first attempt in that run, 0 outside */
    int island;
    const char *cell;
    int64_t verdict; /* 0: never judged; then the fields below say nothing */
    kf_status status;
    kf_blame blame;
    const char *message, *code_hash, *device;
    kf_interval speedup; /* NaN unless correct and timed */
    bool reverified;
    double build_seconds, judge_seconds, judged; /* judged: when, seconds since 1970 */
} kf_store_candidate;

/* Has this work been done? By candidate hash, by normal form (the one judged first), or by
 * machine-code hash, on a task and `device` (NULL: any). Finds the standing verdict; *found is
 * false also for a candidate that is stored but was never judged. */
bool kf_store_find_candidate(kf_store *store, const char *task, const char *hash,
                             const char *device, kf_store_candidate *candidate, bool *found,
                             kf_error *error);
bool kf_store_find_canonical(kf_store *store, const char *task, const char *form,
                             const char *device, kf_store_candidate *candidate, bool *found,
                             kf_error *error);
bool kf_store_find_code(kf_store *store, const char *task, const char *code_hash,
                        const char *device, kf_store_candidate *candidate, bool *found,
                        kf_error *error);
/* By id; `run` (may be NULL) selects the standing in that run. KF_ERROR_INPUT when there is none.
 */
bool kf_store_get_candidate(kf_store *store, int64_t id, const char *run,
                            kf_store_candidate *candidate, kf_error *error);
/* By unique prefix of its hash, at least 4 digits, within `task` (hash; NULL: all). */
bool kf_store_find_candidate_prefix(kf_store *store, const char *task, const char *prefix,
                                    kf_store_candidate *candidate, kf_error *error);
/* The source, malloc'd and NUL-terminated; `size` may be NULL. */
char *kf_store_source(kf_store *store, int64_t candidate, size_t *size, kf_error *error);
/* Writes the source to a file, there completely or not at all. */
bool kf_store_write_source(kf_store *store, int64_t candidate, const char *path, kf_error *error);
/* The JSON text of a verdict exactly as it was recorded; malloc'd. */
char *kf_store_verdict_json(kf_store *store, int64_t verdict, size_t *size, kf_error *error);
/* Raw samples of one workload of a verdict; *samples malloc'd (NULL when count is 0). Unknown
 * workload: count 0. */
bool kf_store_samples(kf_store *store, int64_t verdict, const char *workload, kf_sample **samples,
                      size_t *count, kf_error *error);

/* ---- choosing parents ------------------------------------------------------------------------ */

typedef struct kf_store_scope {
    const char *run;    /* of this run's population; else */
    const char *task;   /* of this task (hash), all runs; else of everything */
    const char *device; /* only judged on this hardware; NULL any */
    const char *cell;   /* with run: only this MAP-Elites cell */
    /* with run: only this island; -1 any (0 is an island: set -1 where there are none) */
    int island;
    bool reverified; /* only those measured again in fresh processes */
} kf_store_scope;

/* Rows on demand: a read snapshot is held until kf_store_cursor_free, so finish promptly. Do not
 * write to what it iterates. */
typedef struct kf_store_cursor kf_store_cursor;
void kf_store_cursor_free(kf_store_cursor *cursor);
KF_DEFINE_AUTO(kf_store_cursor, kf_store_cursor_free)

/* Correct candidates by standing speedup, highest first (ties: the older first), at most `limit`
 * (<= 100,000), none twice. Across tasks (no run, no task) speedups of different tasks are simply
 * compared. */
kf_store_cursor *kf_store_best(kf_store *store, const kf_store_scope *scope, size_t limit,
                               kf_error *error);
/* Candidates that name `parent` as a parent, in order of attempts; `run` NULL: in any run. */
kf_store_cursor *kf_store_children(kf_store *store, int64_t parent, const char *run,
                                   kf_error *error);
/* 1 and *candidate filled, 0 at the end, -1 on error. */
int kf_store_next_candidate(kf_store_cursor *cursor, kf_store_candidate *candidate,
                            kf_error *error);

/* A population is kept in buckets, so that counting and drawing exactly uniformly cost O(log n)
 * however large it is. A correct candidate's bucket is floor(32 log2(speedup)), clamped to
 * ±512: 2.2 % wide; merge neighbours for wider ones. All others are in one bucket per status,
 * KF_BUCKET_FAILED + status. A `correct` without a speedup (not timed) is in KF_BUCKET_FAILED +
 * KF_CORRECT. */
#define KF_BUCKETS_PER_OCTAVE 32
#define KF_BUCKET_LOW (-512)
#define KF_BUCKET_HIGH 512
#define KF_BUCKET_FAILED 1000
#define KF_MAX_BUCKETS (KF_BUCKET_HIGH - KF_BUCKET_LOW + 1 + KF_STATUS_COUNT)

typedef struct kf_store_bucket {
    int bucket;
    int64_t count;
} kf_store_bucket;

/* bucket of a correct candidate; NaN: KF_BUCKET_FAILED + KF_CORRECT */
int kf_store_bucket_of(double speedup);
/* its lower edge, a speedup; the upper one is that of bucket + 1 */
double kf_store_bucket_edge(int bucket);
/* Non-empty buckets with their counts, ascending. `island` -1: all. Returns false on error. */
bool kf_store_histogram(kf_store *store, const char *run, int island,
                        kf_store_bucket buckets[KF_MAX_BUCKETS], size_t *count, kf_error *error);
/* Member number `rank` (0 …) of buckets low … high inclusive: draw rank uniformly below the sum of
 * their counts for an exactly uniform choice. The order is fixed by the history of the run alone,
 * so the same seed draws the same candidates after a resume. *found false when rank is past the
 * end. */
bool kf_store_pick(kf_store *store, const char *run, int island, int low, int high, uint64_t rank,
                   kf_store_candidate *candidate, bool *found, kf_error *error);
/* A correct candidate, uniformly, from 64 random bits. *found false when there is none. */
bool kf_store_pick_correct(kf_store *store, const char *run, int island, uint64_t random,
                           kf_store_candidate *candidate, bool *found, kf_error *error);
/* Moves a member of a population to another island or cell (NULL: no cell). */
bool kf_store_move(kf_store *store, const char *run, int64_t candidate, int island,
                   const char *cell, kf_error *error);

/* ---- history --------------------------------------------------------------------------------- */

typedef struct kf_store_attempt {
    void *memory;
    int64_t number;
    kf_attempt_outcome outcome;
    const char *message, *proposer, *strategy, *step;
    int64_t model_call, candidate, verdict; /* 0 none */
    int64_t began;                          /* as in kf_store_attempt_new */
    int island;                             /* that it was proposed for */
    char hash[KF_HASH_HEX];                 /* of the candidate, "" none */
    const char *flags, *tunables;           /* of the candidate */
    kf_status status;                       /* of the verdict, meaningful when there is one */
    kf_blame blame;
    kf_interval speedup;
    double created;
} kf_store_attempt;

/* Attempts of a run in order, from number `from` (1: all). */
kf_store_cursor *kf_store_attempts(kf_store *store, const char *run, int64_t from, kf_error *error);
int kf_store_next_attempt(kf_store_cursor *cursor, kf_store_attempt *attempt, kf_error *error);

typedef struct kf_store_edge {
    void *memory;
    int64_t child, parent; /* candidates */
    int64_t attempt;       /* in which the child was proposed */
    char run[KF_RUN_ID];
    int depth; /* ancestors: 1 for parents, 2 for grandparents, …; 0 in a whole family */
    const char *role;
} kf_store_edge;

/* Family edges of a run in order of attempts. */
kf_store_cursor *kf_store_family(kf_store *store, const char *run, kf_error *error);
/* Edges from `candidate` up to its oldest ancestors within `run` (NULL: any), nearest first. */
kf_store_cursor *kf_store_ancestors(kf_store *store, int64_t candidate, const char *run,
                                    kf_error *error);
int kf_store_next_edge(kf_store_cursor *cursor, kf_store_edge *edge, kf_error *error);

/* All runs, latest first, of `task` (hash; NULL: any). */
kf_store_cursor *kf_store_runs(kf_store *store, const char *task, kf_error *error);
int kf_store_next_run(kf_store_cursor *cursor, kf_store_run *run, kf_error *error);
/* All tasks by name. */
kf_store_cursor *kf_store_tasks(kf_store *store, kf_error *error);
int kf_store_next_task(kf_store_cursor *cursor, kf_store_task *task, kf_error *error);

/* How the members of a population stand, by status. */
bool kf_store_count_statuses(kf_store *store, const char *run, int64_t counts[KF_STATUS_COUNT],
                             kf_error *error);

/* What each proposer achieved in a run (NULL: in all), by number of attempts. */
typedef struct kf_store_proposer {
    void *memory;
    const char *proposer;
    int64_t attempts, judged, correct, faster; /* faster: whole interval above 1 */
    /* of the model calls behind its attempts; unknown counts as 0 */
    int64_t calls, prompt_tokens, completion_tokens;
    double cost_usd, seconds; /* ditto */
    double best_speedup;      /* NaN none */
} kf_store_proposer;
kf_store_cursor *kf_store_proposers(kf_store *store, const char *run, kf_error *error);
int kf_store_next_proposer(kf_store_cursor *cursor, kf_store_proposer *proposer, kf_error *error);

/* A run's calls in the order in which their replies came; of one provider as it was stored, or all
 * (NULL). */
kf_store_cursor *kf_store_model_calls(kf_store *store, const char *run, const char *provider,
                                      kf_error *error);
int kf_store_next_model_call(kf_store_cursor *cursor, kf_store_model_call *call, kf_error *error);

/* Spent by a run on model calls so far, calls without an attempt included; unknown counts as 0. */
typedef struct kf_store_spent {
    int64_t calls, prompt_tokens, completion_tokens;
    double cost_usd, seconds;
    /* of a run: in which its candidates were judged, builds included; those without a verdict count
     * as 0 */
    double device_seconds;
} kf_store_spent;
bool kf_store_run_spent(kf_store *store, const char *run, kf_store_spent *spent, kf_error *error);
/* The same by how the calls ended ("ok", "truncated", …), most calls first. */
typedef struct kf_store_outcome {
    void *memory;
    const char *outcome;
    kf_store_spent spent;
} kf_store_outcome;
kf_store_cursor *kf_store_outcomes(kf_store *store, const char *run, kf_error *error);
int kf_store_next_outcome(kf_store_cursor *cursor, kf_store_outcome *outcome, kf_error *error);

/* ---- what is known of devices and moves ------------------------------------------------------ */

/* The names of all hardware that the store knows, in the order in which it came. 1 and *name filled
 * until the next step, 0 at the end, -1 on error. */
kf_store_cursor *kf_store_devices(kf_store *store, kf_error *error);
int kf_store_next_device(kf_store_cursor *cursor, const char **name, kf_error *error);

/* Counters of a candidate on a device; JSON, malloc'd; *found false (and NULL) when none were
 * taken. Recorded by kf_store_record or alone. */
bool kf_store_put_counters(kf_store *store, int64_t candidate, const char *device, const char *json,
                           kf_error *error);
bool kf_store_get_counters(kf_store *store, int64_t candidate, const char *device, char **json,
                           bool *found, kf_error *error);

/* A measured ceiling of a device ("copy_bytes_per_second", "f32_flops", …); a new value replaces
 * the old one. */
bool kf_store_put_ceiling(kf_store *store, const char *device, const char *name, double value,
                          kf_error *error);
bool kf_store_get_ceiling(kf_store *store, const char *device, const char *name, double *value,
                          bool *found, kf_error *error);

/* Notes of moves that paid or failed, for later prompts. */
typedef struct kf_store_note_new {
    const char *task;   /* hash; NULL: holds across tasks */
    const char *run;    /* where it was learnt, may be NULL */
    const char *device; /* may be NULL */
    const char *kind;   /* "paid", "failed", "summary", … */
    const char *text;
    double effect;     /* measured ratio new/old speedup, NaN unknown */
    int64_t candidate; /* evidence, 0 none */
} kf_store_note_new;

typedef struct kf_store_note {
    void *memory;
    int64_t id, candidate;
    char task[KF_HASH_HEX], run[KF_RUN_ID]; /* "" none */
    const char *device, *kind, *text;
    double effect, created;
} kf_store_note;

bool kf_store_put_note(kf_store *store, const kf_store_note_new *note, kf_error *error);
/* Notes on `task` and those that hold across tasks, latest first; `task` NULL: all notes. */
kf_store_cursor *kf_store_notes(kf_store *store, const char *task, kf_error *error);
int kf_store_next_note(kf_store_cursor *cursor, kf_store_note *note, kf_error *error);

#endif
