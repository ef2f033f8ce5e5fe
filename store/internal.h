/* What the files of the store share: the connection, cached statements, error words, transactions.
 * Nothing here is public. */
#ifndef KFORGE_STORE_INTERNAL_H
#define KFORGE_STORE_INTERNAL_H

#include <sqlite3.h>
#include <zstd.h>

#include "kforge/store.h"

/* slots of the statement cache, a power of two well above the number of statements */
#define KF_STATEMENTS 256
#define KF_IDLE_CURSORS 16
#define KF_APPLICATION_ID 0x6b666f72 /* "kfor": PRAGMA application_id of a store */

struct kf_store {
    sqlite3 *db;
    char *path;
    bool writable;
    bool made;  /* the file was not there when it was opened */
    bool group; /* between kf_store_begin and kf_store_commit */
    bool quick; /* its commit does not wait for the disk */
    struct {
        const char *sql; /* address of the literal is the key */
        sqlite3_stmt *statement;
    } statements[KF_STATEMENTS];
    sqlite3_stmt *idle[KF_IDLE_CURSORS]; /* of cursors that were freed: preparing a query over a run
                                            takes longer than most of its answers */
    size_t next_idle;
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    /* The run that was written last: rows of a run refer to the same three numbers. Forgotten on
     * every rollback. */
    char run_key[KF_RUN_ID];
    int64_t run, run_task, run_device;
    int64_t attempts; /* of that run, once an attempt was recorded in the open group; 0 not known */
};

/* ---- sql.c ----------------------------------------------------------------------------------- */

/* Words SQLite's last error on this connection as one line: "PATH: DOING: what happened; what to
 * do". Returns false. */
bool kf_sql_fail(kf_store *store, const char *doing, kf_error *error);

/* A cached statement with its parameters bound, one letter of `types` each: i int64_t, n int, t
 * const char * (NULL: NULL), d double (NaN: NULL), b const void * and size_t. Texts and blobs must
 * live until the statement is stepped to its end. NULL on error. */
sqlite3_stmt *kf_sql(kf_store *store, kf_error *error, const char *sql, const char *types, ...);
/* 1: a row, 0: no more, -1: error. After 0 and -1 the statement is reset. */
int kf_sql_step(kf_store *store, sqlite3_stmt *statement, kf_error *error);
/* Binds, steps to the end, ignores rows. */
bool kf_sql_do(kf_store *store, kf_error *error, const char *sql, const char *types, ...);
/* Executes statements that are not cached. `doing` is for the error: "opening". */
bool kf_sql_execute(kf_store *store, const char *sql, const char *doing, kf_error *error);
/* Reads the integer of a pragma or of a query that runs once. */
bool kf_sql_once(kf_store *store, const char *sql, int64_t *value, const char *doing,
                 kf_error *error);
/* One integer: 1 and *value, 0 no row (or NULL), -1 error. */
int kf_sql_integer(kf_store *store, int64_t *value, kf_error *error, const char *sql,
                   const char *types, ...);

/* Resets when the variable leaves scope, so that no read transaction stays open behind an early
 * return. */
static inline void kf_cleanup_reset(sqlite3_stmt **statement)
{
    if (*statement) sqlite3_reset(*statement);
}
#define kf_autoreset __attribute__((cleanup(kf_cleanup_reset))) sqlite3_stmt

/* Copies text columns into one allocation, *memory (freed first); NULL becomes "". */
typedef struct kf_text_column {
    int column;
    const char **target;
} kf_text_column;
bool kf_sql_texts(kf_store *store, sqlite3_stmt *statement, void **memory,
                  const kf_text_column *columns, size_t count, kf_error *error);
/* A text column of known size into an array; cut when longer. */
void kf_sql_copy(sqlite3_stmt *statement, int column, char *target, size_t size);
double kf_sql_double(sqlite3_stmt *statement, int column); /* NULL: NaN */

/* Brackets of everything that writes: a transaction of its own, or a part of the open group.
 * kf_write_end with ok = false undoes it (the whole group, if there is one) and returns false. */
bool kf_write_begin(kf_store *store, kf_error *error);
bool kf_write_end(kf_store *store, bool ok, kf_error *error);

/* That `row`, found by the statement before, is there: 1 true, 0 says what is missing, -1 false. */
bool kf_row_refer(kf_store *store, int row, kf_error *error);

/* ---- open.c ---------------------------------------------------------------------------------- */
double kf_store_time(void); /* seconds since 1970 */

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
/* Stores content once; returns its id, 0 on error. Inside kf_write_begin. */
int64_t kf_blob_put(kf_store *store, const void *data, size_t size, kf_error *error);
char *kf_blob_get(kf_store *store, int64_t blob, size_t *size, kf_error *error);

/* ---- old_codecs.c ---------------------------------------------------------------------------- */

/* Unpacks a text in codec 0, 1 or 2 into *text, malloc'd; NULL if it is damaged. False without
 * memory. */
bool kf_old_unpack(const kf_packed *packed, char **text, kf_error *error);

/* ---- migrate.c ------------------------------------------------------------------------------- */

/* Brings a store that is open for writing up to date. */
bool kf_migrate(kf_store *store, kf_error *error);

/* ---- functions.c ----------------------------------------------------------------------------- */
/* Makes kf_plain, kf_sound and kf_equal known to SQL on this connection. */
bool kf_functions(kf_store *store, kf_error *error);

/* ---- enum_text.c ----------------------------------------------------------------------------- */

/* Return the enum that a text column names. For NULL and for an unknown text they return
 * KF_JUDGE_ERROR, KF_BLAME_JUDGE, KF_RUN_FAILED and KF_ATTEMPT_LOST. */
kf_status kf_sql_status(sqlite3_stmt *statement, int column);
kf_blame kf_sql_blame(sqlite3_stmt *statement, int column);
kf_run_status kf_sql_run_status(sqlite3_stmt *statement, int column);
kf_attempt_outcome kf_sql_outcome(sqlite3_stmt *statement, int column);

/* ---- run.c ----------------------------------------------------------------------------------- */
/* Loads store->run, run_task, run_device for a full run id. */
bool kf_run_load(kf_store *store, const char *id, kf_error *error);
/* Row of a run for reading, by full id; 0 on error. */
int64_t kf_run_row(kf_store *store, const char *id, kf_error *error);
int64_t kf_task_row(kf_store *store, const char *hash, kf_error *error);
/* Row of a device, made when missing (inside kf_write_begin); 0 on error. */
int64_t kf_device_row(kf_store *store, const char *name, kf_error *error);
bool kf_state_put(kf_store *store, int64_t run, const kf_packed *state, kf_error *error);

/* ---- population.c ---------------------------------------------------------------------------- */
typedef struct kf_standing {
    int64_t verdict;
    kf_status status;
    kf_blame blame;
    double speedup; /* NaN unless correct and timed */
    bool reverified;
} kf_standing;
/* From columns (verdict, status, blame, speedup, reverified) starting at `column`. */
kf_standing kf_standing_read(sqlite3_stmt *statement, int column);
/* The rule of store.h: does a new verdict take the place of an old one? */
bool kf_standing_replaces(const kf_standing *fresh, const kf_standing *old);

typedef struct kf_member_row {
    bool found;
    int island, bucket;
    int64_t position;
    kf_standing standing;
} kf_member_row;

/* What a verdict on a candidate (`is_new`: stored just now) means for a run's population. */
typedef struct kf_member_change {
    kf_member_row old;
    bool needed;
    int more_judged, more_correct; /* to be added to the run's totals */
} kf_member_change;

/* Plans and carries out a change of standing. Inside kf_write_begin; nothing may be written to the
 * population in between. */
bool kf_member_plan(kf_store *store, int64_t run, int64_t candidate, bool is_new,
                    const kf_standing *standing, kf_member_change *change, kf_error *error);
bool kf_member_apply(kf_store *store, int64_t run, int64_t candidate, int64_t attempt, int island,
                     const char *cell, const kf_standing *standing, const kf_member_change *change,
                     kf_error *error);

/* ---- candidate.c ----------------------------------------------------------------------------- */
/* Columns of a kf_store_candidate, in a query over candidate c, task t, run r, member m, verdict v,
 * device d. */
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
/* As kf_sql, but a statement of its own, so that several may be read at once. */
kf_store_cursor *kf_cursor(kf_store *store, kf_error *error, const char *sql, const char *types,
                           ...);
int kf_cursor_step(kf_store_cursor *cursor, kf_error *error);

/* ---- ancestors.c ----------------------------------------------------------------------------- */
/* Steps a cursor of kf_store_ancestors, as kf_cursor_step. */
int kf_ancestors_step(kf_store_cursor *cursor, kf_error *error);

#endif
