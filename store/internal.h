/* The parts that the files of the store share: the connection, cached statements, errors,
 * transactions, texts. */
#ifndef KFORGE_STORE_INTERNAL_H
#define KFORGE_STORE_INTERNAL_H

#include <sqlite3.h>
#include <zstd.h>

#include "kforge/store.h"

/* Slots of the statement cache: a power of two well above the number of statements. */
#define KF_STATEMENTS 256
#define KF_IDLE_CURSORS 16
/* More than the store has tables. */
#define KF_TABLES 32
/* "kfor": PRAGMA application_id of a store */
#define KF_APPLICATION_ID 0x6b666f72

struct kf_store {
    sqlite3 *db;
    char *path;
    bool writable;
    /* True if opening created the file. */
    bool made;
    /* True between kf_store_begin and kf_store_commit. */
    bool group;
    /* True if the commit of the group does not wait for the disk. */
    bool quick;
    struct {
        /* The key is the address of the literal. */
        const char *sql;
        sqlite3_stmt *statement;
    } statements[KF_STATEMENTS];
    /* Statements of freed cursors. Preparing a query over a run takes longer than most answers. */
    sqlite3_stmt *idle[KF_IDLE_CURSORS];
    size_t next_idle;
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    /* The run that was written last, with the row ids that its rows refer to. A rollback clears
     * run_key. */
    char run_key[KF_RUN_ID];
    int64_t run, run_task, run_device;
    /* Changes of rows in the open transaction, for each table: see row_sums.c. */
    struct {
        char name[24];
        int64_t rows;
        uint64_t sum;
        bool changed;
    } sums[KF_TABLES];
    /* Number of attempts of that run, known from the first attempt in the open group on; else 0. */
    int64_t attempts;
};

/* ---- sql.c ----------------------------------------------------------------------------------- */

/* Fills *error from SQLite's last error on this connection: "PATH: DOING: what is wrong: what to
 * do". Returns false. */
bool kf_sql_fail(kf_store *store, const char *doing, kf_error *error);

/* Returns a cached statement with its parameters bound; NULL on error. `types` has one letter for
 * each parameter: i int64_t, n int, t const char * (NULL becomes NULL), d double (NaN becomes
 * NULL), b const void * and size_t. Texts and blobs must live until the statement is stepped to its
 * end. */
sqlite3_stmt *kf_sql(kf_store *store, kf_error *error, const char *sql, const char *types, ...);
/* Returns 1 for a row, 0 at the end, -1 on error. After 0 and -1 the statement is reset. */
int kf_sql_step(kf_store *store, sqlite3_stmt *statement, kf_error *error);
/* Binds, and steps to the end. Rows are ignored. */
bool kf_sql_do(kf_store *store, kf_error *error, const char *sql, const char *types, ...);
/* Executes statements that are not cached. `doing` is for the error: "opening". */
bool kf_sql_execute(kf_store *store, const char *sql, const char *doing, kf_error *error);
/* Reads the integer of a pragma or of a query that runs once. */
bool kf_sql_once(kf_store *store, const char *sql, int64_t *value, const char *doing,
                 kf_error *error);
/* Reads one integer. Returns 1, 0 if there is no row or it is NULL, -1 on error. */
int kf_sql_integer(kf_store *store, int64_t *value, kf_error *error, const char *sql,
                   const char *types, ...);

/* Resets a statement as its variable leaves scope, so that an early return leaves no read
 * transaction open. */
static inline void kf_cleanup_reset(sqlite3_stmt **statement)
{
    if (*statement) sqlite3_reset(*statement);
}
#define kf_autoreset __attribute__((cleanup(kf_cleanup_reset))) sqlite3_stmt

/* Copies text columns into one allocation, *memory, after freeing the old one. NULL becomes "". */
typedef struct kf_text_column {
    int column;
    const char **target;
} kf_text_column;
bool kf_sql_texts(kf_store *store, sqlite3_stmt *statement, void **memory,
                  const kf_text_column *columns, size_t count, kf_error *error);
/* Copies a text column into an array. Cuts it if it is too long. */
void kf_sql_copy(sqlite3_stmt *statement, int column, char *target, size_t size);
/* Returns a column, NaN for NULL. */
double kf_sql_double(sqlite3_stmt *statement, int column);

/* Every write is between these two: a transaction of its own, or a part of the open group.
 * kf_write_end with ok = false undoes it, or the whole open group, and returns false. */
bool kf_write_begin(kf_store *store, kf_error *error);
bool kf_write_end(kf_store *store, bool ok, kf_error *error);

/* True if `row`, the result of kf_sql_integer on a row that the caller refers to, is 1. If it is 0,
 * fills *error. */
bool kf_row_refer(kf_store *store, int row, kf_error *error);

/* ---- open.c ---------------------------------------------------------------------------------- */
/* Returns the seconds since 1970. */
double kf_store_time(void);

/* ---- blob.c ---------------------------------------------------------------------------------- */

/* A text as the columns (size, codec, data) keep it. `data` is borrowed, or owned by `owned`. */
typedef struct kf_packed {
    /* bytes of the text itself */
    int64_t size;
    int codec;
    const void *data;
    size_t data_size;
    void *owned;
} kf_packed;
static inline void kf_cleanup_packed(kf_packed *packed)
{
    free(packed->owned);
}
#define kf_autopacked __attribute__((cleanup(kf_cleanup_packed))) kf_packed

/* KF_CODEC is the one that is written: a zstd frame with a checksum. A text as it is, without a
 * checksum, can be read, for rows that other programs write. Codecs 1 and 2 are in old_codecs.c. */
enum { KF_CODEC_RAW = 0, KF_CODEC = 3 };

/* zstd's levels. Samples, states and prompts under way take the faster one: they do not last, or
 * gain little. */
enum { KF_PACK_FAST = -1, KF_PACK_TEXT = 1 };
bool kf_pack(kf_store *store, int level, const void *data, size_t size, kf_packed *packed,
             kf_error *error);
/* Borrows columns (size, codec, data) from `column` on. */
bool kf_packed_read(kf_store *store, sqlite3_stmt *statement, int column, kf_packed *packed,
                    kf_error *error);
/* Returns the text of columns (size, codec, data) from `column` on, malloc'd and NUL-terminated.
 * `size` may be NULL. */
char *kf_unpack(kf_store *store, sqlite3_stmt *statement, int column, size_t *size,
                kf_error *error);
char *kf_unpack_bytes(kf_store *store, const kf_packed *packed, size_t *size, kf_error *error);
/* Stores a text once and returns the id of its blob, 0 on error. Call it inside kf_write_begin. */
int64_t kf_blob_put(kf_store *store, const void *data, size_t size, kf_error *error);
/* Returns the text of a blob, malloc'd, after comparing its hash. `size` may be NULL. */
char *kf_blob_get(kf_store *store, int64_t blob, size_t *size, kf_error *error);

/* ---- maintenance.c --------------------------------------------------------------------------- */

/* Deletes the texts that no row refers to. */
bool kf_blobs_drop_orphans(kf_store *store, kf_error *error);

/* ---- old_codecs.c ---------------------------------------------------------------------------- */

/* Unpacks a text in codec 0, 1 or 2 into *text, malloc'd; NULL if it is damaged. False without
 * memory. */
bool kf_old_unpack(const kf_packed *packed, char **text, kf_error *error);

/* ---- migrate.c ------------------------------------------------------------------------------- */

/* Brings a store that is open for writing up to date. */
bool kf_migrate(kf_store *store, kf_error *error);
/* Applies migrations 1 to `version` to an empty database, without its texts and sums. */
bool kf_migrate_empty(sqlite3 *db, int version, kf_error *error);

/* ---- schema_objects.c ------------------------------------------------------------------------ */
/* Compares tables and indices with those that kforge makes. Fills *error (KF_ERROR_INPUT) if the
 * store of this version has others, lacks one, or has a view, a trigger or a generated column. */
bool kf_schema_objects_check(kf_store *store, int version, kf_error *error);

/* ---- row_sums.c ------------------------------------------------------------------------------ */
/* Makes this connection note changes of rows from now on. */
bool kf_row_sums_keep(kf_store *store, kf_error *error);
/* Adds the noted changes to table_sum, at the end of a transaction. */
bool kf_row_sums_write(kf_store *store, kf_error *error);
/* Forgets them, after a rollback. */
void kf_row_sums_forget(kf_store *store);
/* Computes all sums anew, after a migration. Call it in a transaction. */
bool kf_row_sums_fill(kf_store *store, kf_error *error);
/* Compares the rows of every table with their sum. */
bool kf_row_sums_check(kf_store *store, kf_error *error);

/* ---- sql_functions.c ------------------------------------------------------------------------- */
/* Adds kf_plain, kf_sound and kf_equal to the SQL of this connection. */
bool kf_functions(kf_store *store, kf_error *error);

/* ---- enum_text.c ----------------------------------------------------------------------------- */

/* Return the enum that a text column names. For NULL and for an unknown text they return
 * KF_JUDGE_ERROR, KF_BLAME_JUDGE, KF_RUN_FAILED and KF_ATTEMPT_LOST. */
kf_status kf_sql_status(sqlite3_stmt *statement, int column);
kf_blame kf_sql_blame(sqlite3_stmt *statement, int column);
kf_run_status kf_sql_run_status(sqlite3_stmt *statement, int column);
kf_attempt_outcome kf_sql_outcome(sqlite3_stmt *statement, int column);

/* ---- run.c ----------------------------------------------------------------------------------- */
/* Fills store->run, run_task and run_device for a full run id. */
bool kf_run_load(kf_store *store, const char *id, kf_error *error);
/* Returns the row of a run by its full id, 0 on error. */
int64_t kf_run_row(kf_store *store, const char *id, kf_error *error);
bool kf_state_put(kf_store *store, int64_t run, const kf_packed *state, kf_error *error);

/* ---- task.c ---------------------------------------------------------------------------------- */
/* Returns the row of a task, 0 on error. */
int64_t kf_task_row(kf_store *store, const char *hash, kf_error *error);
/* Returns the row of a device, and makes it if it is missing; 0 on error. Call it inside
 * kf_write_begin. */
int64_t kf_device_row(kf_store *store, const char *name, kf_error *error);

/* ---- run_population.c ------------------------------------------------------------------------ */
typedef struct kf_standing {
    int64_t verdict;
    kf_status status;
    kf_blame blame;
    /* NaN unless correct and timed */
    double speedup, low, high;
    bool reverified;
} kf_standing;
/* Reads columns (verdict, status, blame, speedup, reverified, low, high) from `column` on. */
kf_standing kf_standing_read(sqlite3_stmt *statement, int column);
/* True if a new verdict replaces an old one by the rule of store.h. */
bool kf_standing_replaces(const kf_standing *fresh, const kf_standing *old);

typedef struct kf_member_row {
    bool found;
    int island, bucket;
    int64_t position;
    kf_standing standing;
} kf_member_row;

/* How a verdict changes the population of a run. */
typedef struct kf_member_change {
    kf_member_row old;
    bool needed;
    /* for the totals of the run */
    int more_judged, more_correct;
} kf_member_change;

/* Plan and apply a change of standing, both inside one kf_write_begin. Nothing else may write to
 * the population between them. `is_new`: the candidate was stored just now. */
bool kf_member_plan(kf_store *store, int64_t run, int64_t candidate, bool is_new,
                    const kf_standing *standing, kf_member_change *change, kf_error *error);
bool kf_member_apply(kf_store *store, int64_t run, int64_t candidate, int64_t attempt, int island,
                     const char *cell, const kf_standing *standing, const kf_member_change *change,
                     kf_error *error);

/* Gives members that `verdict` stands for its new status, after it was re-opened. */
bool kf_members_follow(kf_store *store, int64_t verdict, kf_error *error);

/* ---- candidate.c ----------------------------------------------------------------------------- */
/* The columns of a kf_store_candidate, in a query over candidate c, task t, run r, member m,
 * verdict v and device d. */
#define KF_CANDIDATE_COLUMNS(RUN, MEMBER)                                     \
    "c.id, c.hash, t.hash, c.flags, c.tunables, c.features, " RUN ", " MEMBER \
    ", v.id, v.status, v.blame, v.message, v.code_hash, d.name, "             \
    "v.speedup, v.low, v.high, v.reverified, v.build_seconds, v.judge_seconds, v.created"
#define KF_MEMBER_COLUMNS KF_CANDIDATE_COLUMNS("r.key", "m.attempt, m.island, m.cell")
#define KF_LONE_COLUMNS KF_CANDIDATE_COLUMNS("NULL", "0, 0, NULL")
bool kf_candidate_fill(kf_store *store, sqlite3_stmt *statement, kf_store_candidate *candidate,
                       kf_error *error);

/* ---- sample.c -------------------------------------------------------------------------------- */
bool kf_samples_put(kf_store *store, int64_t verdict_id, const kf_verdict *verdict,
                    kf_error *error);

/* ---- id_queue.c ------------------------------------------------------------------------------ */
typedef struct kf_id_queue kf_id_queue;
/* Returns a queue of one id at depth 0; NULL without memory. */
kf_id_queue *kf_id_queue_new(int64_t first);
void kf_id_queue_free(kf_id_queue *queue);
/* Appends an id unless the queue ever held it. False without memory. */
bool kf_id_queue_put(kf_id_queue *queue, int64_t id, int depth);
/* Returns the id at the head with its depth. */
int64_t kf_id_queue_head(const kf_id_queue *queue, int *depth);
/* Takes the head out. False, and the head stays, if it is the last. */
bool kf_id_queue_advance(kf_id_queue *queue);

/* ---- cursor.c -------------------------------------------------------------------------------- */
struct kf_store_cursor {
    kf_store *store;
    sqlite3_stmt *statement;
    bool done;
    /* the candidates to visit, in a walk of ancestors.c; NULL in other cursors */
    kf_id_queue *ancestors;
};
/* Like kf_sql for types i and t, but with a statement of its own, so that several cursors can be
 * read at once. */
kf_store_cursor *kf_cursor(kf_store *store, kf_error *error, const char *sql, const char *types,
                           ...);
int kf_cursor_step(kf_store_cursor *cursor, kf_error *error);

/* ---- ancestors.c ----------------------------------------------------------------------------- */
/* True for an edge `l` of the first attempt that proposed its child, from run LOW on. Later
 * attempts that propose it again would make a child the parent of its own parent. */
#define KF_FIRST_EDGE(LOW)                                                                        \
    "(l.run, l.attempt) = (SELECT f.run, f.attempt FROM lineage f INDEXED BY lineage_child"       \
    " WHERE f.child = l.child AND f.run >= " LOW " ORDER BY f.run, f.attempt LIMIT 1)"            \
    " AND NOT EXISTS (SELECT 1 FROM run o CROSS JOIN member b ON b.run = o.id AND b.candidate = " \
    "l.child WHERE o.id BETWEEN " LOW " AND l.run AND (b.run, b.attempt) < (l.run, l.attempt))"
/* Steps a cursor of kf_store_ancestors, as kf_cursor_step. */
int kf_ancestors_step(kf_store_cursor *cursor, kf_error *error);

#endif
