/* Sums over the rows of each table, so that `kforge store check` sees a changed value that is
 * copied nowhere else, and a lost row.
 *
 * Table table_sum has one row for each other table: the number of its rows, and the sum of their
 * hashes. Temporary triggers of each connection that writes see every change of a row, and add it
 * up in memory. They are not part of the file. A transaction adds the changes to table_sum before
 * it ends, so that sums and rows change together. A rollback forgets them.
 *
 * A hash covers the type and the bits of each column. It leaves out
 * packed texts (column data), which have checksums of their own (blob.c). */
#include "internal.h"

#include <inttypes.h>
#include <string.h>

#include "kforge/buffer.h"

/* ---- hash of a row --------------------------------------------------------------------------- */

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static uint64_t mix_bytes(uint64_t sum, const void *data, size_t size)
{
    const char *at = data;
    uint64_t word = 0;
    sum = mix(sum, size);
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = mix(sum, word);
    }
    word = 0;
    if (size) memcpy(&word, at, size);
    return mix(sum, word);
}

static uint64_t mix_value(uint64_t sum, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    uint64_t word = 0;
    double number;
    sum = mix(sum, (uint64_t)type);
    switch (type) {
    case SQLITE_INTEGER: return mix(sum, (uint64_t)sqlite3_value_int64(value));
    case SQLITE_FLOAT:
        number = sqlite3_value_double(value);
        memcpy(&word, &number, sizeof word);
        return mix(sum, word);
    case SQLITE_TEXT:
    case SQLITE_BLOB: {
        const void *data = sqlite3_value_blob(value);
        return mix_bytes(sum, data, data ? (size_t)sqlite3_value_bytes(value) : 0);
    }
    default: return sum;
    }
}

static uint64_t hash_row(sqlite3_value **values, int count)
{
    uint64_t sum = 0;
    for (int i = 0; i < count; i++) sum = mix_value(sum, values[i]);
    return sum;
}

/* kf_row_sum(column, …): the hash of a row. */
static void row_sum(sqlite3_context *context, int count, sqlite3_value **values)
{
    sqlite3_result_int64(context, (int64_t)hash_row(values, count));
}

/* kf_row_changed(sign, table, column, …): notes a new (1) or an old (-1) row of a table. */
static void row_changed(sqlite3_context *context, int count, sqlite3_value **values)
{
    kf_store *store = sqlite3_user_data(context);
    int sign = sqlite3_value_int(values[0]), table = sqlite3_value_int(values[1]);
    uint64_t hash = hash_row(values + 2, count - 2);
    store->sums[table].rows += sign;
    store->sums[table].sum += sign < 0 ? -hash : hash;
    store->sums[table].changed = true;
}

/* kf_add(a, b): the sum of two integers, which wraps. SQL's sum turns into floating point. */
static void add(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    uint64_t sum = (uint64_t)sqlite3_value_int64(values[0]);
    sqlite3_result_int64(context, (int64_t)(sum + (uint64_t)sqlite3_value_int64(values[1])));
}

/* Triggers may call only functions that are marked as harmless. */
static bool add_functions(kf_store *store, kf_error *error)
{
    int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;
    return (sqlite3_create_function(store->db, "kf_row_sum", -1, flags, store, row_sum, NULL,
                                    NULL) == SQLITE_OK &&
            sqlite3_create_function(store->db, "kf_row_changed", -1, flags, store, row_changed,
                                    NULL, NULL) == SQLITE_OK &&
            sqlite3_create_function(store->db, "kf_add", 2, flags, store, add, NULL, NULL) ==
                SQLITE_OK) ||
           kf_sql_fail(store, "opening", error);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Calls `each` for every table that has a sum, with its number in the order of names. False, and
 * the walk ends, if `each` fails. */
static bool each_table(kf_store *store,
                       bool (*each)(kf_store *, const char *, size_t, kf_buffer *, kf_error *),
                       kf_error *error)
{
    kf_autobuffer sql = {0};
    size_t count = 0;
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(store, error,
                  "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name <> "
                  "'table_sum' ORDER BY name",
                  "");
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        const char *name = (const char *)sqlite3_column_text(cursor->statement, 0);
        if (!name) return kf_fail_memory(error, "the sums of tables");
        if (count == KF_TABLES)
            return kf_fail(error, KF_ERROR_INTERNAL,
                           "%s: more than %d tables: this is a bug in kforge", store->path,
                           KF_TABLES);
        if (!each(store, name, count++, &sql, error)) return false;
    }
    return row == 0;
}

/* Writes "PREFIX.column, …": what the hash of a row covers. */
static bool write_columns(kf_store *store, const char *name, const char *prefix, kf_buffer *out,
                          kf_error *error)
{
    kf_autoreset *columns = kf_sql(
        store, error, "SELECT name FROM pragma_table_info(?) WHERE name <> 'data'", "t", name);
    int row = columns ? 1 : -1;
    const char *comma = "";
    while (row == 1 && (row = kf_sql_step(store, columns, error)) == 1) {
        kf_buffer_format(out, "%s%s%s", comma, prefix,
                         (const char *)sqlite3_column_text(columns, 0));
        comma = ", ";
    }
    return row == 0;
}

/* ---- keeping the sums ------------------------------------------------------------------------ */

static bool add_triggers(kf_store *store, const char *name, size_t table, kf_buffer *sql,
                         kf_error *error)
{
    kf_autobuffer fresh = {0}, old = {0};
    if (!write_columns(store, name, "NEW.", &fresh, error) ||
        !write_columns(store, name, "OLD.", &old, error))
        return false;
    if (fresh.failed || old.failed) return kf_fail_memory(error, "the sums of tables");
    kf_buffer_clear(sql);
    kf_buffer_format(sql,
                     "CREATE TEMP TRIGGER sum_insert_%s AFTER INSERT ON main.%s BEGIN SELECT "
                     "kf_row_changed(1, %zu, %s); END;",
                     name, name, table, fresh.data);
    kf_buffer_format(sql,
                     "CREATE TEMP TRIGGER sum_delete_%s AFTER DELETE ON main.%s BEGIN SELECT "
                     "kf_row_changed(-1, %zu, %s); END;",
                     name, name, table, old.data);
    kf_buffer_format(sql,
                     "CREATE TEMP TRIGGER sum_update_%s AFTER UPDATE ON main.%s BEGIN SELECT "
                     "kf_row_changed(-1, %zu, %s), kf_row_changed(1, %zu, %s); END;",
                     name, name, table, old.data, table, fresh.data);
    if (sql->failed) return kf_fail_memory(error, "the sums of tables");
    snprintf(store->sums[table].name, sizeof store->sums[table].name, "%s", name);
    return kf_sql_execute(store, sql->data, "opening", error);
}

bool kf_row_sums_keep(kf_store *store, kf_error *error)
{
    /* Without recursive triggers, a row that INSERT OR REPLACE removes fires no trigger. */
    return kf_sql_execute(store, "PRAGMA recursive_triggers = ON", "opening", error) &&
           add_functions(store, error) && each_table(store, add_triggers, error);
}

bool kf_row_sums_write(kf_store *store, kf_error *error)
{
    for (size_t i = 0; i < KF_TABLES; i++) {
        if (store->sums[i].changed &&
            !kf_sql_do(store, error,
                       "UPDATE table_sum SET rows = rows + ?, sum = kf_add(sum, ?) WHERE name = ?",
                       "iit", store->sums[i].rows, (int64_t)store->sums[i].sum,
                       store->sums[i].name))
            return false;
    }
    kf_row_sums_forget(store);
    return true;
}

void kf_row_sums_forget(kf_store *store)
{
    for (size_t i = 0; i < KF_TABLES; i++) {
        store->sums[i].rows = 0;
        store->sums[i].sum = 0;
        store->sums[i].changed = false;
    }
}

/* ---- computing them -------------------------------------------------------------------------- */

/* Computes the sum over the rows that a table has. */
static bool compute(kf_store *store, const char *name, kf_buffer *sql, int64_t *rows, int64_t *sum,
                    kf_error *error)
{
    kf_buffer_clear(sql);
    kf_buffer_string(sql, "SELECT kf_row_sum(");
    if (!write_columns(store, name, "", sql, error)) return false;
    kf_buffer_format(sql, ") FROM main.%s", name);
    if (sql->failed) return kf_fail_memory(error, "the sums of tables");
    kf_auto(kf_store_cursor) cursor = kf_cursor(store, error, sql->data, "");
    uint64_t total = 0;
    *rows = 0;
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        total += (uint64_t)sqlite3_column_int64(cursor->statement, 0);
        ++*rows;
    }
    *sum = (int64_t)total;
    return row == 0;
}

static bool fill(kf_store *store, const char *name, size_t table, kf_buffer *sql, kf_error *error)
{
    (void)table;
    int64_t rows, sum;
    return compute(store, name, sql, &rows, &sum, error) &&
           kf_sql_do(store, error,
                     "INSERT OR REPLACE INTO table_sum (name, rows, sum) VALUES "
                     "(?, ?, ?)",
                     "tii", name, rows, sum);
}

bool kf_row_sums_fill(kf_store *store, kf_error *error)
{
    return add_functions(store, error) && each_table(store, fill, error);
}

static bool compare(kf_store *store, const char *name, size_t table, kf_buffer *sql,
                    kf_error *error)
{
    (void)table;
    int64_t rows, sum, known, matches = 0;
    if (!compute(store, name, sql, &rows, &sum, error)) return false;
    int row = kf_sql_integer(store, &known, error, "SELECT rows FROM table_sum WHERE name = ?", "t",
                             name);
    if (row == 1)
        row = kf_sql_integer(store, &matches, error,
                             "SELECT rows = ? AND sum = ? FROM table_sum WHERE name = ?", "iit",
                             rows, sum, name);
    if (row < 0) return false;
    if (row == 1 && matches) return true;
    if (row == 1 && rows != known)
        return kf_fail(error, KF_ERROR_IO,
                       "%s: the store is damaged: table %s has %" PRId64 " rows and should have "
                       "%" PRId64 ": restore a copy",
                       store->path, name, rows, known);
    return kf_fail(error, KF_ERROR_IO,
                   "%s: the store is damaged: a row of table %s was changed, by a fault or by "
                   "another program: restore a copy, or copy what is left with `kforge store "
                   "merge`",
                   store->path, name);
}

bool kf_row_sums_check(kf_store *store, kf_error *error)
{
    return add_functions(store, error) && each_table(store, compare, error);
}
