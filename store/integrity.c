/* Is everything in a store as it should be? Pages and indices (SQLite's own check), references, the
 * numbers that are kept beside what they count, and the hash of every blob. */
#include "internal.h"

#include <string.h>

/* Each selects a line about something that must not be. */
static const char *const rules[] = {
    "SELECT 'task ' || name || ': counts ' || candidates || ' candidates' FROM task t WHERE "
    "candidates <>"
    " (SELECT count(*) FROM candidate WHERE task = t.id)",
    "SELECT 'run ' || key || ': counts ' || attempts || ' attempts' FROM run r WHERE attempts <>"
    " (SELECT count(*) FROM attempt WHERE run = r.id) OR attempts <> (SELECT coalesce(max(number), "
    "0) FROM attempt WHERE run = "
    "r.id)",
    "SELECT 'run ' || key || ': counts ' || judged || ' judged candidates, ' || correct || ' "
    "correct' FROM run r WHERE"
    " judged <> (SELECT count(*) FROM member WHERE run = r.id) OR correct <>"
    " (SELECT count(*) FROM member m JOIN verdict v ON v.id = m.verdict WHERE m.run = r.id AND "
    "v.status = 'correct')",
    "SELECT 'population of run ' || run || ', bucket ' || bucket || ': counts ' || count FROM "
    "tally t WHERE count <>"
    " (SELECT count(*) FROM member m WHERE m.run = t.run AND m.island = t.island AND m.bucket = "
    "t.bucket) OR count <="
    " (SELECT max(position) FROM member m WHERE m.run = t.run AND m.island = t.island AND m.bucket "
    "= t.bucket)",
    "SELECT 'population of run ' || run || ': ' || count(*) || ' members are not counted' FROM "
    "member m WHERE NOT EXISTS"
    " (SELECT 1 FROM tally t WHERE t.run = m.run AND t.island = m.island AND t.bucket = m.bucket) "
    "GROUP BY run",
    "SELECT 'verdict ' || v.id || ': has no JSON' FROM verdict v LEFT JOIN verdict_json j ON "
    "j.verdict = v.id WHERE j.verdict IS "
    "NULL",
    "SELECT 'candidate ' || candidate || ': several verdicts stand on one device' FROM verdict "
    "WHERE standing = 1"
    " GROUP BY candidate, device HAVING count(*) > 1",
    "SELECT 'candidate ' || candidate || ': no verdict stands' FROM verdict GROUP BY candidate, "
    "device HAVING sum(standing) = 0",
};

/* The first row of `sql`, as text, is a problem; `fine` is the word that is not. */
static bool no_rows(kf_store *store, const char *sql, const char *fine, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_cursor(store, error, sql, "");
    int row = cursor ? kf_cursor_step(cursor, error) : -1;
    if (row != 1) return row == 0;
    const char *text = (const char *)sqlite3_column_text(cursor->statement, 0);
    if (text && fine && !strcmp(text, fine)) return true;
    return kf_fail(error, KF_ERROR_IO,
                   "%s: the store is damaged: %s: restore a copy, or recover what is left with "
                   "sqlite3's .recover command",
                   store->path, text ? text : "unreadable");
}

static bool check_blobs(kf_store *store, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(store, error, "SELECT id FROM blob ORDER BY id", "");
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        char *text = kf_blob_get(store, sqlite3_column_int64(cursor->statement, 0), NULL, error);
        if (!text) return false;
        free(text);
    }
    return row == 0;
}

/* What is packed can be unpacked, and has the size that it had. */
static const char *const packed[] = {
    "SELECT size, codec, data FROM verdict_json ORDER BY verdict",
    "SELECT size, codec, data FROM sample ORDER BY verdict",
    "SELECT size, codec, data FROM counters",
    "SELECT size, codec, data FROM run_state",
    "SELECT size, codec, data FROM asked",
};

static bool check_packed(kf_store *store, const char *sql, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_cursor(store, error, sql, "");
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        char *text = kf_unpack(store, cursor->statement, 0, NULL, error);
        if (!text) return false;
        free(text);
    }
    return row == 0;
}

bool kf_store_check(kf_store *store, kf_error *error)
{
    if (!no_rows(store, "PRAGMA integrity_check(1)", "ok", error) ||
        !no_rows(store, "PRAGMA foreign_key_check", NULL, error))
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!no_rows(store, rules[i], NULL, error)) return false;
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (!check_packed(store, packed[i], error)) return false;
    return check_blobs(store, error);
}
