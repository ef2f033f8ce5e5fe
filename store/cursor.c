/* Rows on demand. A cursor has a statement of its own, so several cursors can be read at once. The
 * statement of a freed cursor is kept for the next cursor with the same SQL. */
#include "internal.h"

#include <stdarg.h>
#include <string.h>

static sqlite3_stmt *take_idle(kf_store *store, const char *sql)
{
    for (size_t i = 0; i < KF_IDLE_CURSORS; i++) {
        sqlite3_stmt *statement = store->idle[i];
        if (!statement || strcmp(sqlite3_sql(statement), sql) != 0) continue;
        store->idle[i] = NULL;
        return statement;
    }
    return NULL;
}

static void put_idle(kf_store *store, sqlite3_stmt *statement)
{
    if (!statement) return;
    sqlite3_reset(statement); /* ends its read snapshot */
    sqlite3_clear_bindings(statement);
    sqlite3_stmt **slot = &store->idle[store->next_idle++ % KF_IDLE_CURSORS];
    sqlite3_finalize(*slot);
    *slot = statement;
}

kf_store_cursor *kf_cursor(kf_store *store, kf_error *error, const char *sql, const char *types,
                           ...)
{
    kf_auto(kf_store_cursor) cursor = calloc(1, sizeof *cursor);
    if (!cursor) {
        kf_fail_memory(error, "a cursor");
        return NULL;
    }
    cursor->store = store;
    cursor->statement = take_idle(store, sql);
    if (!cursor->statement && sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                                 &cursor->statement, NULL) != SQLITE_OK) {
        kf_sql_fail(store, "reading", error);
        return NULL;
    }
    va_list values;
    va_start(values, types);
    int rc = SQLITE_OK;
    /* Texts are copied, so they need not outlive this call. */
    for (int i = 1; types[i - 1] && rc == SQLITE_OK; i++) {
        if (types[i - 1] == 'i')
            rc = sqlite3_bind_int64(cursor->statement, i, va_arg(values, int64_t));
        else
            rc = sqlite3_bind_text(cursor->statement, i, va_arg(values, const char *), -1,
                                   SQLITE_TRANSIENT);
    }
    va_end(values);
    if (rc != SQLITE_OK) {
        kf_sql_fail(store, "reading", error);
        return NULL;
    }
    return kf_steal(&cursor);
}

int kf_cursor_step(kf_store_cursor *cursor, kf_error *error)
{
    if (cursor->done) return 0; /* Another step would start over. */
    int rc = sqlite3_step(cursor->statement);
    if (rc == SQLITE_ROW) return 1;
    cursor->done = true;
    if (rc == SQLITE_DONE) return 0;
    kf_sql_fail(cursor->store, "reading", error);
    return -1;
}

void kf_store_cursor_free(kf_store_cursor *cursor)
{
    if (!cursor) return;
    put_idle(cursor->store, cursor->statement);
    kf_id_queue_free(cursor->ancestors);
    free(cursor);
}
