/* Tasks and devices, to which runs, candidates and verdicts refer. */
#include "internal.h"

#include <string.h>

bool kf_store_put_task(kf_store *store, const char *hash, const char *name, const char *bundle,
                       size_t size, kf_error *error)
{
    if (!hash || !*hash || strlen(hash) >= KF_HASH_HEX || !name || !bundle)
        return kf_fail(error, KF_ERROR_INTERNAL,
                       "%s: a task without hash, name or bundle: this is a bug in kforge",
                       store->path);
    if (!kf_write_begin(store, error)) return false;
    int64_t task = 0;
    int row = kf_sql_integer(store, &task, error, "SELECT id FROM task WHERE hash = ?", "t", hash);
    bool ok = row >= 0;
    if (row == 0) {
        int64_t blob = kf_blob_put(store, bundle, size, error);
        ok = blob && kf_sql_do(store, error,
                               "INSERT INTO task (hash, name, bundle, created) VALUES (?, ?, ?, ?)",
                               "ttid", hash, name, blob, kf_store_time());
    }
    return kf_write_end(store, ok, error);
}

int64_t kf_task_row(kf_store *store, const char *hash, kf_error *error)
{
    int64_t task = 0;
    if (kf_sql_integer(store, &task, error, "SELECT id FROM task WHERE hash = ?", "t", hash) == 0)
        kf_fail(error, KF_ERROR_INPUT,
                "%s: no task %.12s in this store: `kforge list` shows what it holds", store->path,
                hash ? hash : "");
    return task;
}

int64_t kf_device_row(kf_store *store, const char *name, kf_error *error)
{
    int64_t device = 0;
    int row =
        kf_sql_integer(store, &device, error, "SELECT id FROM device WHERE name = ?", "t", name);
    if (row) return row == 1 ? device : 0;
    if (!kf_sql_do(store, error, "INSERT INTO device (name) VALUES (?)", "t", name)) return 0;
    return sqlite3_last_insert_rowid(store->db);
}

char *kf_store_task_bundle(kf_store *store, const char *hash, size_t *size, kf_error *error)
{
    int64_t blob = 0;
    int row =
        kf_sql_integer(store, &blob, error, "SELECT bundle FROM task WHERE hash = ?", "t", hash);
    if (row == 0)
        kf_fail(error, KF_ERROR_INPUT,
                "%s: no task %.12s in this store: `kforge list` shows what it holds", store->path,
                hash);
    return row == 1 ? kf_blob_get(store, blob, size, error) : NULL;
}

#define TASK_COLUMNS \
    "t.hash, t.name, t.created, (SELECT count(*) FROM run WHERE task = t.id), t.candidates"

static bool fill(kf_store *store, sqlite3_stmt *statement, kf_store_task *task, kf_error *error)
{
    kf_sql_copy(statement, 0, task->hash, sizeof task->hash);
    task->created = kf_sql_double(statement, 2);
    task->runs = sqlite3_column_int64(statement, 3);
    task->candidates = sqlite3_column_int64(statement, 4);
    return kf_sql_texts(store, statement, &task->memory, (kf_text_column[]){{1, &task->name}}, 1,
                        error);
}

static bool is_hash_prefix(const char *text)
{
    size_t length = strspn(text, "0123456789abcdef");
    return length >= 4 && length < KF_HASH_HEX && !text[length];
}

/* Reads the only row of a statement. Returns 1, 0 without a row, 2 if there are several, -1 on
 * error.
 */
static int only(kf_store *store, sqlite3_stmt *statement, kf_store_task *task, kf_error *error)
{
    int row = kf_sql_step(store, statement, error);
    if (row != 1) return row;
    if (!fill(store, statement, task, error)) return -1;
    row = kf_sql_step(store, statement, error);
    return row == 1 ? 2 : row == 0 ? 1 : -1;
}

bool kf_store_find_task(kf_store *store, const char *hash_or_name, kf_store_task *task,
                        kf_error *error)
{
    kf_autoreset *named = kf_sql(store, error,
                                 "SELECT " TASK_COLUMNS
                                 " FROM task t WHERE name = ? ORDER BY created DESC, hash LIMIT 1",
                                 "t", hash_or_name);
    int row = named ? only(store, named, task, error) : -1;
    if (row) return row == 1;
    if (is_hash_prefix(hash_or_name)) {
        kf_autoreset *hashed = kf_sql(store, error,
                                      "SELECT " TASK_COLUMNS
                                      " FROM task t WHERE hash >= ?1 AND hash < ?1 || 'g' LIMIT 2",
                                      "t", hash_or_name);
        row = hashed ? only(store, hashed, task, error) : -1;
        if (row == 2)
            return kf_fail(error, KF_ERROR_INPUT,
                           "%s: several tasks begin with %s: give more digits", store->path,
                           hash_or_name);
        if (row) return row == 1;
    }
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s: no task named %s in this store: `kforge list` shows what it holds",
                   store->path, hash_or_name);
}

kf_store_cursor *kf_store_tasks(kf_store *store, kf_error *error)
{
    return kf_cursor(store, error,
                     "SELECT " TASK_COLUMNS " FROM task t ORDER BY t.name, t.created, t.id", "");
}

int kf_store_next_task(kf_store_cursor *cursor, kf_store_task *task, kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    return row == 1 && !fill(cursor->store, cursor->statement, task, error) ? -1 : row;
}
