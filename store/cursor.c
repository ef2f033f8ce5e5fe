/* Rows on demand. A cursor has a statement of its own, so several may be read at once and beside the cached ones. */
#include "internal.h"

#include <stdarg.h>

kf_store_cursor *kf_cursor(kf_store *store, kf_error *error, const char *sql, const char *types, ...)
{
    kf_auto(kf_store_cursor) cursor = calloc(1, sizeof *cursor);
    if (!cursor) {
        kf_fail(error, KF_ERROR_MEMORY, "%s: reading: out of memory", store->path);
        return NULL;
    }
    cursor->store = store;
    if (sqlite3_prepare_v2(store->db, sql, -1, &cursor->statement, NULL) != SQLITE_OK) {
        kf_sql_fail(store, "reading", error);
        return NULL;
    }
    va_list values;
    va_start(values, types);
    int rc = SQLITE_OK;
    for (int i = 1; types[i - 1] && rc == SQLITE_OK; i++) { /* texts are copied: the caller's need not outlive this call */
        if (types[i - 1] == 'i')
            rc = sqlite3_bind_int64(cursor->statement, i, va_arg(values, int64_t));
        else
            rc = sqlite3_bind_text(cursor->statement, i, va_arg(values, const char *), -1, SQLITE_TRANSIENT);
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
    if (cursor->done) return 0; /* stepping once more would start over */
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
    sqlite3_finalize(cursor->statement);
    kf_kin_free(cursor->kin);
    free(cursor);
}
