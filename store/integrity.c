/* Checking a store: its schema, pages and indices (SQLite's own check), references, counts against
 * the rows that they count, copies against the original, the checksum or hash of every text, and
 * the sums over the rows of each table. */
#include "internal.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/json.h"

/* Each query selects a line for each violation of a rule. */
static const char *const rules[] = {
    ("SELECT 'task ' || name || ': counts ' || candidates || ' candidates' FROM task t WHERE "
     "candidates <>"
     " (SELECT count(*) FROM candidate WHERE task = t.id)"),
    ("SELECT 'run ' || key || ': counts ' || attempts || ' attempts' FROM run r WHERE attempts <>"
     " (SELECT count(*) FROM attempt WHERE run = r.id) OR attempts <> (SELECT "
     "coalesce(max(number), "
     "0) FROM attempt WHERE run = "
     "r.id)"),
    ("SELECT 'run ' || key || ': counts ' || judged || ' judged candidates, ' || correct || ' "
     "correct' FROM run r WHERE"
     " judged <> (SELECT count(*) FROM member WHERE run = r.id) OR correct <>"
     " (SELECT count(*) FROM member m JOIN verdict v ON v.id = m.verdict WHERE m.run = r.id AND "
     "v.status = 'correct')"),
    ("SELECT 'population of run ' || run || ', bucket ' || bucket || ': counts ' || count FROM "
     "tally t WHERE count <>"
     " (SELECT count(*) FROM member m WHERE m.run = t.run AND m.island = t.island AND m.bucket = "
     "t.bucket) OR count <="
     " (SELECT max(position) FROM member m WHERE m.run = t.run AND m.island = t.island AND "
     "m.bucket "
     "= t.bucket)"),
    ("SELECT 'population of run ' || run || ': ' || count(*) || ' members are not counted' FROM "
     "member m WHERE NOT EXISTS"
     " (SELECT 1 FROM tally t WHERE t.run = m.run AND t.island = m.island AND t.bucket = m.bucket) "
     "GROUP BY run"),
    ("SELECT 'verdict ' || v.id || ': has no JSON' FROM verdict v LEFT JOIN verdict_json j ON "
     "j.verdict = v.id WHERE j.verdict IS "
     "NULL"),
    ("SELECT 'candidate ' || candidate || ': several verdicts stand on one device' FROM verdict "
     "WHERE standing = 1"
     " GROUP BY candidate, device HAVING count(*) > 1"),
    ("SELECT 'population of run ' || m.run || ', candidate ' || m.candidate || ': its score is not "
     "that of verdict ' || v.id FROM member m JOIN verdict v ON v.id = m.verdict WHERE "
     "m.reverified <> v.reverified OR (m.score IS NOT NULL AND m.score IS NOT v.speedup)"),
    ("SELECT 'verdict ' || v.id || ': its task is not that of its candidate' FROM verdict v JOIN "
     "candidate c ON c.id = v.candidate WHERE v.task <> c.task"),
    ("SELECT 'candidate ' || candidate || ': no verdict stands' FROM verdict GROUP BY candidate, "
     "device HAVING sum(standing) = 0"),
};

static bool damaged_row(kf_store *store, const char *what, kf_error *error)
{
    return kf_fail(error, KF_ERROR_IO,
                   "%s: the store is damaged: %s: restore a copy, or recover what is left with "
                   "sqlite3's .recover command",
                   store->path, what);
}

/* True if `sql` has no row, or the first is `fine`. Any other row is a problem. */
static bool no_rows(kf_store *store, const char *sql, const char *fine, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_cursor(store, error, sql, "");
    int row = cursor ? kf_cursor_step(cursor, error) : -1;
    if (row != 1) return row == 0;
    const char *text = (const char *)sqlite3_column_text(cursor->statement, 0);
    if (text && fine && !strcmp(text, fine)) return true;
    return damaged_row(store, text ? text : "unreadable", error);
}

/* ---- columns that are copies ----------------------------------------------------------------- */

/* The columns of a verdict that its JSON has under the same name, after its number. */
#define VERDICT_COLUMNS                                                                          \
    "status, blame, message, binary_hash, code_hash, reverified, build_seconds, judge_seconds, " \
    "speedup, low, high"
#define SPEEDUP_COLUMNS 3

/* True if a text column has the text of the JSON. A judge's text may have been cleaned for the
 * JSON, so only plain texts are compared. */
static bool same_text(const char *column, const char *text)
{
    for (const char *c = column; *c; c++)
        if (!isprint((unsigned char)*c)) return true;
    return strcmp(column, text) == 0;
}

/* True if two figures are equal but for rounding: vacuum prints the JSON again. The sums over rows
 * see the bits that are left out here. */
static bool same_figure(double column, double figure)
{
    return fabs(column - figure) <= 1e-12 * fabs(figure);
}

/* True if a column has the value of the JSON. A missing value says nothing. */
static bool same_value(sqlite3_stmt *row, int column, const cJSON *item)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    if (!item) return true;
    if (cJSON_IsBool(item)) return sqlite3_column_int(row, column) == cJSON_IsTrue(item);
    if (cJSON_IsNumber(item)) return same_figure(kf_sql_double(row, column), item->valuedouble);
    if (!cJSON_IsString(item)) return true;
    /* Figures that are no numbers are texts in the JSON, and NULL here. */
    if (!text) return !*item->valuestring || !isfinite(strtod(item->valuestring, NULL));
    return sqlite3_column_type(row, column) != SQLITE_TEXT || same_text(text, item->valuestring);
}

static bool same_verdict(sqlite3_stmt *row, const cJSON *json, const char **wrong)
{
    const cJSON *speedup = cJSON_GetObjectItemCaseSensitive(json, "speedup");
    int count = sqlite3_column_count(row) - 3;
    for (int i = 1; i < count; i++) {
        const char *name = *wrong = sqlite3_column_name(row, i);
        bool is_speedup = i >= count - SPEEDUP_COLUMNS;
        /* Only timed verdicts have these columns. */
        if (is_speedup && sqlite3_column_type(row, i) == SQLITE_NULL) continue;
        const char *key = is_speedup && i == count - SPEEDUP_COLUMNS ? "value" : name;
        if (!same_value(row, i, cJSON_GetObjectItemCaseSensitive(is_speedup ? speedup : json, key)))
            return false;
    }
    return true;
}

static bool check_verdicts(kf_store *store, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(store, error,
                  "SELECT v.id, " VERDICT_COLUMNS ", j.size, j.codec, j.data FROM verdict v JOIN "
                  "verdict_json j ON j.verdict = v.id ORDER BY v.id",
                  "");
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        sqlite3_stmt *verdict = cursor->statement;
        size_t size;
        kf_autofree char *text =
            kf_unpack(store, verdict, sqlite3_column_count(verdict) - 3, &size, error);
        if (!text) return false;
        kf_auto(cJSON) json = cJSON_ParseWithLength(text, size);
        const char *wrong = "";
        if (!cJSON_IsObject(json) || same_verdict(verdict, json, &wrong)) continue;
        char what[120];
        snprintf(what, sizeof what, "verdict %lld: column %s differs from its JSON",
                 (long long)sqlite3_column_int64(verdict, 0), wrong);
        return damaged_row(store, what, error);
    }
    return row == 0;
}

/* True if the candidate in `row` has the hash of its source and flags. */
static bool has_hash(kf_store *store, sqlite3_stmt *row, bool *same, kf_error *error)
{
    size_t size;
    const char *flags[256];
    size_t count = 0;
    char hex[KF_HASH_HEX];
    kf_autofree char *source = kf_blob_get(store, sqlite3_column_int64(row, 3), &size, error);
    if (!source) return false;
    kf_auto(cJSON) array = cJSON_Parse((const char *)sqlite3_column_text(row, 2));
    const cJSON *flag;
    cJSON_ArrayForEach(flag, array) if (cJSON_IsString(flag) && count < 256) flags[count++] =
        flag->valuestring;
    kf_store_candidate_hash(source, size, flags, count, hex);
    const char *hash = (const char *)sqlite3_column_text(row, 1);
    *same = cJSON_IsArray(array) && hash && strcmp(hash, hex) == 0;
    return true;
}

static bool check_candidates(kf_store *store, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(store, error, "SELECT id, hash, flags, source FROM candidate ORDER BY id", "");
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        bool same;
        if (!has_hash(store, cursor->statement, &same, error)) return false;
        if (same) continue;
        char what[100];
        snprintf(what, sizeof what, "candidate %lld: its hash is not that of its source and flags",
                 (long long)sqlite3_column_int64(cursor->statement, 0));
        return damaged_row(store, what, error);
    }
    return row == 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The damaged texts of a store: how many there are, and the names of the first. */
typedef struct damage {
    int64_t count;
    kf_buffer names;
} damage;

#define NAMED 12

static void note(damage *found, const char *name)
{
    if (found->count++ < NAMED)
        kf_buffer_format(&found->names, "%s%s", found->names.size ? ", " : "", name);
}

/* For each table with packed texts: the name of each row, and its text. */
static const char *const packed[] = {
    "SELECT 'verdict_json of verdict ' || verdict, size, codec, data FROM verdict_json"
    " ORDER BY verdict",
    "SELECT 'sample of verdict ' || verdict, size, codec, data FROM sample ORDER BY verdict",
    "SELECT 'counters of candidate ' || candidate || ' on device ' || device, size, codec, data"
    " FROM counters ORDER BY candidate, device",
    "SELECT 'run_state of run ' || r.key, s.size, s.codec, s.data FROM run_state s"
    " JOIN run r ON r.id = s.run ORDER BY s.run",
    "SELECT 'asked of run ' || r.key || ', tag ' || a.tag, a.size, a.codec, a.data FROM asked a"
    " JOIN run r ON r.id = a.run ORDER BY a.run, a.tag",
};

/* Unpacks every text of a table. False on errors other than damage. */
static bool check_packed(kf_store *store, const char *sql, damage *found, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_cursor(store, error, sql, "");
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        kf_error failure = {0};
        kf_autofree char *text = kf_unpack(store, cursor->statement, 1, NULL, &failure);
        if (text) continue;
        if (failure.code == KF_ERROR_MEMORY) return kf_fail_copy(error, &failure);
        note(found, (const char *)sqlite3_column_text(cursor->statement, 0));
    }
    return row == 0;
}

/* The same for table `blob`. Its rows also name the hash of their text. */
static bool check_blobs(kf_store *store, damage *found, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(store, error, "SELECT id, 'blob ' || id FROM blob ORDER BY id", "");
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        kf_error failure = {0};
        kf_autofree char *text =
            kf_blob_get(store, sqlite3_column_int64(cursor->statement, 0), NULL, &failure);
        if (text) continue;
        if (failure.code != KF_ERROR_IO) return kf_fail_copy(error, &failure);
        note(found, (const char *)sqlite3_column_text(cursor->statement, 1));
    }
    return row == 0;
}

static bool check_texts(kf_store *store, damage *found, kf_error *error)
{
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (!check_packed(store, packed[i], found, error)) return false;
    if (!check_blobs(store, found, error)) return false;
    if (!found->count) return true;
    if (found->names.failed) return kf_fail_memory(error, "a list of damaged texts");
    return kf_fail(error, KF_ERROR_IO,
                   "%s: the store is damaged: the checksum is wrong in %s%s: restore a copy of the "
                   "store; without one the rest of it stays usable, and only these texts are lost",
                   store->path, found->names.data, found->count > NAMED ? " and more" : "");
}

bool kf_store_check(kf_store *store, kf_error *error)
{
    if (!kf_schema_objects_check(store, kf_store_schema(), error) ||
        !no_rows(store, "PRAGMA integrity_check(1)", "ok", error) ||
        !no_rows(store, "PRAGMA foreign_key_check", NULL, error))
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!no_rows(store, rules[i], NULL, error)) return false;
    damage found = {0};
    bool sound = check_texts(store, &found, error);
    kf_buffer_free(&found.names);
    return sound && check_verdicts(store, error) && check_candidates(store, error) &&
           kf_row_sums_check(store, error);
}

bool kf_store_unverified(kf_store *store, int64_t *count, kf_error *error)
{
    return kf_sql_integer(store, count, error, "SELECT sum(unverified) FROM attempt", "") >= 0;
}
