/* Bringing a store up to date: the numbered migrations of schema.sql, and the re-encoding of texts
 * that comes between migrations 6 and 7.
 *
 * Migrations run in one transaction. Re-encoding can take minutes, so it runs in batches of one
 * transaction each. A store with user_version REENCODING is between batches: older programs
 * refuse it, readers ask for `kforge store migrate`, and the next writer goes on where the last one
 * stopped, after a kill -9 too. Rows that are done have codec KF_CODEC.
 *
 * A text that can't be unpacked stays as it is. Reading it fails, and `kforge store check` names
 * it; the rest of the store can be used. */
#include "internal.h"

#include <string.h>

#include "kforge/buffer.h"

static const unsigned char schema_bytes[] = {
#include "schema.inc"
};
#define schema_sql ((const char *)schema_bytes)

/* the user_version of a store that holds texts in old codecs and in the new one */
#define REENCODING 6

static const char doing[] = "bringing the store up to date";

/* ---- migrations of schema.sql ---------------------------------------------------------------- */

/* Returns the start of the SQL of migration `number` in schema.sql; NULL if there is no such
 * migration. */
static const char *migration(int number, size_t *size)
{
    static const char mark[] = "\n-- migration ";
    for (const char *at = strstr(schema_sql, mark); at; at = strstr(at + 1, mark)) {
        if (atoi(at + sizeof mark - 1) != number) continue;
        const char *end = strstr(at + 1, mark);
        *size = end ? (size_t)(end - at) : strlen(at);
        return at;
    }
    return NULL;
}

int kf_store_schema(void)
{
    int number = 0;
    size_t size;
    while (migration(number + 1, &size)) number++;
    return number;
}

/* Applies the migrations after number `from`, as far as number `until`, inside a transaction. */
static bool apply_migrations(kf_store *store, int64_t from, int64_t until, kf_error *error)
{
    size_t size;
    const char *sql;
    for (int number = (int)from + 1; number <= until && (sql = migration(number, &size));
         number++) {
        kf_autobuffer text = {0};
        kf_buffer_append(&text, sql, size);
        kf_buffer_format(&text, ";PRAGMA user_version = %d; PRAGMA application_id = %d;", number,
                         KF_APPLICATION_ID);
        if (text.failed) return kf_fail_memory(error, "a migration");
        if (!kf_sql_execute(store, text.data, doing, error)) return false;
    }
    return true;
}

bool kf_migrate_empty(sqlite3 *db, int version, kf_error *error)
{
    size_t size;
    const char *sql;
    for (int number = 1; number <= version && (sql = migration(number, &size)); number++) {
        kf_autofree char *text = strndup(sql, size);
        if (!text) return kf_fail_memory(error, "a migration");
        if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
            return sqlite3_errcode(db) == SQLITE_NOMEM
                       ? kf_fail_memory(error, "a schema")
                       : kf_fail(error, KF_ERROR_INTERNAL,
                                 "migration %d: %s: this is a bug in kforge", number,
                                 sqlite3_errmsg(db));
    }
    return true;
}

/* Fills the sums over rows once the schema is complete. Migrations before that change rows, too. */
static bool fill_sums(kf_store *store, int64_t from, int64_t version, kf_error *error)
{
    return from == version || version != kf_store_schema() || kf_row_sums_fill(store, error);
}

/* Applies migrations as far as number `until`, in one transaction. *version becomes the version
 * after it. Another process may have migrated the store while this one waited for the lock. A new
 * store has no texts to re-encode and gets all migrations at once. */
static bool migrate_to(kf_store *store, int64_t until, int64_t *version, kf_error *error)
{
    if (!kf_sql_execute(store, "BEGIN IMMEDIATE", doing, error)) return false;
    int64_t from;
    if (kf_sql_once(store, "PRAGMA user_version", &from, doing, error) &&
        apply_migrations(store, from, from ? until : kf_store_schema(), error) &&
        kf_sql_once(store, "PRAGMA user_version", version, doing, error) &&
        fill_sums(store, from, *version, error) && kf_sql_execute(store, "COMMIT", doing, error))
        return true;
    if (!sqlite3_get_autocommit(store->db)) sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

/* ---- re-encoding ----------------------------------------------------------------------------- */

/* Rows and bytes of text in one transaction. */
#define BATCH_ROWS 500
#define BATCH_BYTES (8 << 20)

/* For each table with packed texts: the next row after a key that has an old codec, and its
 * update. */
static const struct {
    const char *next, *update;
    int level;
} tables[] = {
#define TABLE(name, key, other, hash, level)                                                     \
    {                                                                                            \
        "SELECT " key ", " other ", size, codec, data, " hash " FROM " name " WHERE (" key       \
        ", " other ") > (?, ?) AND codec < 3 ORDER BY " key ", " other " LIMIT 1",               \
            "UPDATE " name " SET codec = ?, data = ? WHERE " key " = ? AND " other " = ?", level \
    }
#define ROWID_TABLE(name, key, hash, level)                                              \
    {                                                                                    \
        "SELECT " key ", 0, size, codec, data, " hash " FROM " name " WHERE " key        \
        " > ?1 AND codec < 3 AND ?2 NOT NULL ORDER BY " key " LIMIT 1",                  \
            "UPDATE " name " SET codec = ?, data = ? WHERE " key " = ? AND ? = 0", level \
    }
    ROWID_TABLE("blob", "id", "hash", KF_PACK_TEXT),
    ROWID_TABLE("verdict_json", "verdict", "NULL", KF_PACK_TEXT),
    ROWID_TABLE("sample", "verdict", "NULL", KF_PACK_FAST),
    ROWID_TABLE("run_state", "run", "NULL", KF_PACK_FAST),
    TABLE("counters", "candidate", "device", "NULL", KF_PACK_TEXT),
    TABLE("asked", "run", "tag", "NULL", KF_PACK_FAST),
};
#define TABLES (sizeof tables / sizeof *tables)

/* The next row to look at. */
typedef struct position {
    size_t table;
    int64_t key, other;
} position;

/* True if the text of a row has the SHA-256 that the row names, or the row names none. */
static bool has_hash(sqlite3_stmt *statement, int column, const char *text, size_t size)
{
    const void *expected = sqlite3_column_blob(statement, column);
    if (!expected) return true;
    kf_hash hash = kf_hash_bytes(text, size);
    return sqlite3_column_bytes(statement, column) == KF_HASH_SIZE &&
           memcmp(hash.bytes, expected, KF_HASH_SIZE) == 0;
}

/* Re-encodes the row after `at` and moves `at` there. 1: *bytes of text; 0: the table has no more
 * rows; -1: error. */
static int reencode_row(kf_store *store, position *at, size_t *bytes, kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(store, error, tables[at->table].next, "ii", at->key, at->other);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row != 1) return row;
    kf_packed old;
    kf_autofree char *text = NULL;
    kf_autopacked fresh = {0};
    at->key = sqlite3_column_int64(statement, 0);
    at->other = sqlite3_column_int64(statement, 1);
    if (!kf_packed_read(store, statement, 2, &old, error) || !kf_old_unpack(&old, &text, error))
        return -1;
    *bytes = old.data_size;
    if (!text || !has_hash(statement, 5, text, (size_t)old.size)) return 1;
    if (!kf_pack(store, tables[at->table].level, text, (size_t)old.size, &fresh, error)) return -1;
    sqlite3_reset(statement);
    return kf_sql_do(store, error, tables[at->table].update, "nbii", fresh.codec, fresh.data,
                     fresh.data_size, at->key, at->other)
               ? 1
               : -1;
}

/* Re-encodes rows until the batch is full or no row is left: at->table is TABLES then. */
static bool reencode_batch(kf_store *store, position *at, kf_error *error)
{
    size_t total = 0;
    for (int rows = 0; rows < BATCH_ROWS && total < BATCH_BYTES && at->table < TABLES; rows++) {
        size_t bytes = 0;
        int row = reencode_row(store, at, &bytes, error);
        if (row < 0) return false;
        if (row == 0) *at = (position){at->table + 1, INT64_MIN, INT64_MIN};
        total += bytes;
    }
    return true;
}

static bool reencode(kf_store *store, kf_error *error)
{
    position at = {0, INT64_MIN, INT64_MIN};
    while (at.table < TABLES)
        if (!kf_write_begin(store, error) ||
            !kf_write_end(store, reencode_batch(store, &at, error), error))
            return false;
    return true;
}

bool kf_migrate(kf_store *store, kf_error *error)
{
    int64_t version;
    if (!migrate_to(store, REENCODING, &version, error)) return false;
    if (version >= kf_store_schema()) return true;
    return reencode(store, error) && migrate_to(store, kf_store_schema(), &version, error);
}
