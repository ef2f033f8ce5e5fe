/* Access to SQLite: cached statements with bound parameters, rows into structs, errors as one line,
 * transactions. */
#include "internal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

static bool disk_is_full(int code, int system_error)
{
    return code == SQLITE_FULL ||
           ((code & 0xff) == SQLITE_IOERR &&
            (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG));
}

bool kf_sql_fail(kf_store *store, const char *doing, kf_error *error)
{
    int last = errno;
    const char *path = store->path;
    if (!store->db) return kf_fail(error, KF_ERROR_MEMORY, "%s: %s: out of memory", path, doing);
    int code = sqlite3_extended_errcode(store->db);
    /* A failed COMMIT does not set it, but sets errno, which kf_sql_step cleared before. */
    int system_error = sqlite3_system_errno(store->db);
    if (!system_error && (code & 0xff) == SQLITE_IOERR) system_error = last;
    const char *message = sqlite3_errmsg(store->db);
    if (disk_is_full(code, system_error))
        return kf_fail(
            error, KF_ERROR_IO,
            "%s: %s: the disk is full: free some space and try again; the store is unchanged", path,
            doing);
    switch (code & 0xff) {
    case SQLITE_NOMEM: return kf_fail(error, KF_ERROR_MEMORY, "%s: %s: out of memory", path, doing);
    case SQLITE_INTERRUPT: return kf_fail(error, KF_ERROR_IO, "%s: %s: interrupted", path, doing);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return kf_fail(
            error, KF_ERROR_BUSY,
            "%s: %s: another process keeps the store locked: wait for it to finish or stop it",
            path, doing);
    case SQLITE_READONLY:
        return kf_fail(error, KF_ERROR_IO,
                       "%s: %s: the store is read-only: make file and folder writable, or name "
                       "another in KFORGE_STORE",
                       path, doing);
    case SQLITE_NOTADB:
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a kforge store (not even an SQLite database): name another file or "
                       "move this one away",
                       path);
    case SQLITE_CORRUPT:
        return kf_fail(error, KF_ERROR_IO,
                       "%s: %s: the store is damaged (%s): restore a copy, or recover what is left "
                       "with sqlite3's .recover command",
                       path, doing, message);
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return kf_fail(error, KF_ERROR_IO,
                       "%s: %s: permission denied: check the owner and mode of file and folder",
                       path, doing);
    case SQLITE_CANTOPEN:
        return kf_fail(error, KF_ERROR_IO,
                       "%s: %s: can't be opened%s%s: check that its folder exists and is writable",
                       path, doing, system_error ? ": " : "",
                       system_error ? strerror(system_error) : "");
    case SQLITE_TOOBIG:
        return kf_fail(error, KF_ERROR_LIMIT, "%s: %s: a text is larger than the store takes", path,
                       doing);
    case SQLITE_CONSTRAINT:
        return kf_fail(error, KF_ERROR_INTERNAL, "%s: %s: %s: this is a bug in kforge", path, doing,
                       message);
    case SQLITE_IOERR:
        return kf_fail(error, KF_ERROR_IO, "%s: %s: %s%s%s: check the disk and the kernel's log",
                       path, doing, message, system_error ? ": " : "",
                       system_error ? strerror(system_error) : "");
    default:
        return kf_fail(error, KF_ERROR_INTERNAL, "%s: %s: %s (SQLite %d): this is a bug in kforge",
                       path, doing, message, code);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static sqlite3_stmt *cached(kf_store *store, const char *sql, kf_error *error)
{
    size_t slot = ((uintptr_t)sql >> 3) * 0x9e3779b97f4a7c15u >> 56;
    for (size_t i = 0; i < KF_STATEMENTS; i++, slot = (slot + 1) % KF_STATEMENTS) {
        if (store->statements[slot].sql == sql) return store->statements[slot].statement;
        if (store->statements[slot].sql) continue;
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
            SQLITE_OK) {
            kf_sql_fail(store, "reading", error);
            return NULL;
        }
        store->statements[slot].sql = sql;
        return store->statements[slot].statement = statement;
    }
    kf_fail(error, KF_ERROR_INTERNAL, "%s: more than %d statements: this is a bug in kforge",
            store->path, KF_STATEMENTS);
    return NULL;
}

static bool bind(kf_store *store, sqlite3_stmt *statement, const char *types, va_list values,
                 kf_error *error)
{
    int rc = SQLITE_OK;
    for (int i = 1; types[i - 1] && rc == SQLITE_OK; i++) {
        switch (types[i - 1]) {
        case 'i': rc = sqlite3_bind_int64(statement, i, va_arg(values, int64_t)); break;
        case 'n': rc = sqlite3_bind_int(statement, i, va_arg(values, int)); break;
        case 't':
            rc = sqlite3_bind_text(statement, i, va_arg(values, const char *), -1, SQLITE_STATIC);
            break;
        /* SQLite binds NaN as NULL */
        case 'd': rc = sqlite3_bind_double(statement, i, va_arg(values, double)); break;
        case 'b': {
            const void *data = va_arg(values, const void *);
            size_t size = va_arg(values, size_t);
            rc = sqlite3_bind_blob64(statement, i, data ? data : "", size, SQLITE_STATIC);
            break;
        }
        default:
            return kf_fail(error, KF_ERROR_INTERNAL, "store: no such parameter type '%c'",
                           types[i - 1]);
        }
    }
    return rc == SQLITE_OK || kf_sql_fail(store, "reading", error);
}

static sqlite3_stmt *bound(kf_store *store, const char *sql, const char *types, va_list values,
                           kf_error *error)
{
    sqlite3_stmt *statement = cached(store, sql, error);
    if (!statement) return NULL;
    sqlite3_reset(statement);
    return bind(store, statement, types, values, error) ? statement : NULL;
}

sqlite3_stmt *kf_sql(kf_store *store, kf_error *error, const char *sql, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    sqlite3_stmt *statement = bound(store, sql, types, values, error);
    va_end(values);
    return statement;
}

int kf_sql_step(kf_store *store, sqlite3_stmt *statement, kf_error *error)
{
    errno = 0;
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) return 1;
    /* BEGIN and COMMIT count as read-only */
    bool writing = !sqlite3_stmt_readonly(statement) || !sqlite3_column_count(statement);
    if (rc != SQLITE_DONE) kf_sql_fail(store, writing ? "writing" : "reading", error);
    sqlite3_reset(statement);
    return rc == SQLITE_DONE ? 0 : -1;
}

bool kf_sql_do(kf_store *store, kf_error *error, const char *sql, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    sqlite3_stmt *statement = bound(store, sql, types, values, error);
    va_end(values);
    if (!statement) return false;
    int row;
    while ((row = kf_sql_step(store, statement, error)) == 1) continue;
    return row == 0;
}

int kf_sql_integer(kf_store *store, int64_t *value, kf_error *error, const char *sql,
                   const char *types, ...)
{
    va_list values;
    va_start(values, types);
    kf_autoreset *statement = bound(store, sql, types, values, error);
    va_end(values);
    if (!statement) return -1;
    int row = kf_sql_step(store, statement, error);
    if (row != 1) return row;
    if (sqlite3_column_type(statement, 0) == SQLITE_NULL) return 0;
    *value = sqlite3_column_int64(statement, 0);
    return 1;
}

bool kf_sql_execute(kf_store *store, const char *sql, const char *doing, kf_error *error)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
           kf_sql_fail(store, doing, error);
}

bool kf_sql_once(kf_store *store, const char *sql, int64_t *value, const char *doing,
                 kf_error *error)
{
    sqlite3_stmt *statement = NULL;
    bool ok = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
              sqlite3_step(statement) == SQLITE_ROW;
    *value = ok ? sqlite3_column_int64(statement, 0) : 0;
    if (!ok) kf_sql_fail(store, doing, error);
    sqlite3_finalize(statement);
    return ok;
}

bool kf_row_refer(kf_store *store, int row, kf_error *error)
{
    if (row == 0)
        kf_fail(error, KF_ERROR_INPUT,
                "%s: writing: it refers to something that is not in the store", store->path);
    return row == 1;
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool kf_sql_texts(kf_store *store, sqlite3_stmt *statement, void **memory,
                  const kf_text_column *columns, size_t count, kf_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        /* SQLite demands the text before the bytes. NULL in a column that is not of type NULL means
         * out of memory. */
        const unsigned char *text = sqlite3_column_text(statement, columns[i].column);
        if (!text && sqlite3_column_type(statement, columns[i].column) != SQLITE_NULL)
            return kf_sql_fail(store, "reading", error);
        total += (size_t)sqlite3_column_bytes(statement, columns[i].column) + 1;
    }
    char *at = malloc(total);
    if (!at) return kf_fail_memory(error, "a row");
    free(*memory);
    *memory = at;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *text = sqlite3_column_text(statement, columns[i].column);
        size_t size = text ? (size_t)sqlite3_column_bytes(statement, columns[i].column) : 0;
        if (size) memcpy(at, text, size);
        at[size] = '\0';
        *columns[i].target = at;
        at += size + 1;
    }
    return true;
}

void kf_sql_copy(sqlite3_stmt *statement, int column, char *target, size_t size)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    snprintf(target, size, "%s", text ? (const char *)text : "");
}

double kf_sql_double(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? NAN
               : sqlite3_column_double(statement, column);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void end_quick(kf_store *store)
{
    if (store->quick) sqlite3_exec(store->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
    store->quick = false;
}

static void roll_back(kf_store *store)
{
    if (!sqlite3_get_autocommit(store->db)) kf_sql_do(store, NULL, "ROLLBACK", "");
    kf_row_sums_forget(store);
    store->group = false;
    store->run_key[0] = '\0'; /* The rollback may have undone that row. */
    end_quick(store);
}

bool kf_store_is_there(kf_store *store)
{
    int moved = 0;
    return sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
           !moved;
}

/* Fills *error if the store is gone. Otherwise each write would succeed, and be lost with the file
 * that no path names any more. */
static bool still_there(kf_store *store, kf_error *error)
{
    return kf_store_is_there(store) ||
           kf_fail(error, KF_ERROR_IO,
                   "%s: the store was deleted or replaced while kforge wrote to it: the last "
                   "results are lost: restore the file, or start again with a new store",
                   store->path);
}

static bool begin(kf_store *store, kf_error *error)
{
    store->attempts = 0; /* Other processes may have written meanwhile. */
    if (!store->writable)
        return kf_fail(
            error, KF_ERROR_INTERNAL,
            "%s: writing to a store that was opened for reading: this is a bug in kforge",
            store->path);
    return still_there(store, error) && kf_sql_do(store, error, "BEGIN IMMEDIATE", "");
}

static bool commit(kf_store *store, kf_error *error)
{
    if (kf_row_sums_write(store, error) && kf_sql_do(store, error, "COMMIT", ""))
        return still_there(store, error);
    roll_back(store);
    return false;
}

bool kf_write_begin(kf_store *store, kf_error *error)
{
    return store->group || begin(store, error);
}

bool kf_write_end(kf_store *store, bool ok, kf_error *error)
{
    if (ok) return store->group || commit(store, error);
    bool group = store->group;
    roll_back(store);
    if (group) kf_fail_prefix(error, "the open group of writes was undone");
    return false;
}

bool kf_store_begin(kf_store *store, kf_error *error)
{
    if (store->group)
        return kf_fail(error, KF_ERROR_INTERNAL,
                       "%s: a group of writes is open already: this is a bug in kforge",
                       store->path);
    return store->group = begin(store, error);
}

/* Under NORMAL a commit is written to the log and not synced. The next commit under FULL syncs the
 * whole log. */
bool kf_store_begin_quick(kf_store *store, kf_error *error)
{
    store->quick = !store->group && sqlite3_exec(store->db, "PRAGMA synchronous = NORMAL", NULL,
                                                 NULL, NULL) == SQLITE_OK;
    if (kf_store_begin(store, error)) return true;
    end_quick(store);
    return false;
}

bool kf_store_commit(kf_store *store, kf_error *error)
{
    if (!store->group)
        return kf_fail(error, KF_ERROR_INTERNAL, "%s: no group of writes is open, or it was undone",
                       store->path);
    store->group = false;
    bool committed = commit(store, error);
    end_quick(store);
    return committed;
}

void kf_store_rollback(kf_store *store)
{
    if (store->group) roll_back(store);
}

bool kf_store_in_group(const kf_store *store)
{
    return store->group;
}
