/* Merging one store into another. The union itself is SQL: merge.sql, one section after another.
 * This file decides which version of a run stays, which verdict stands, and which of the two stores
 * is at fault if the merge fails.
 *
 * The other store is attached to this connection. All happens in one transaction of this store, so
 * a crash leaves it as it was. The other store and its log are only read.
 */
#include "internal.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "kforge/buffer.h"
#include "kforge/store_maintenance.h"

static const unsigned char merge_bytes[] = {
#include "merge.inc"
};

/* ---- sections of merge.sql ------------------------------------------------------------------- */

static bool run_section(kf_store *store, const char *name, kf_error *error)
{
    char mark[64];
    snprintf(mark, sizeof mark, "\n-- section %s\n", name);
    const char *start = strstr((const char *)merge_bytes, mark);
    if (!start)
        return kf_fail(error, KF_ERROR_INTERNAL,
                       "merge.sql has no section %s: this is a bug in kforge", name);
    const char *end = strstr(start + 1, "\n-- section ");
    kf_autofree char *sql = end ? strndup(start, (size_t)(end - start)) : strdup(start);
    if (!sql) return kf_fail_memory(error, "a merge");
    return kf_sql_execute(store, sql, "merging", error);
}

/* ---- runs that both stores know -------------------------------------------------------------- */

#define SHARED_RUNS 4096

typedef struct shared_run {
    int64_t src, dst;
    int64_t src_attempts, dst_attempts;
    double src_updated, dst_updated;
} shared_run;

/* Computes a hash over attempts 1 … `until` of a run, without row ids. `schema` is "src" or "main".
 */
static bool history_hash(kf_store *store, const char *schema, int64_t run, int64_t until,
                         kf_hash *hash, kf_error *error)
{
    char sql[900];
    snprintf(
        sql, sizeof sql,
        "SELECT a.number, a.outcome, a.proposer, a.step, a.created, coalesce(c.hash, ''), "
        "coalesce(v.status, ''),"
        " coalesce(v.created, 0) FROM %s.attempt a LEFT JOIN %s.candidate c ON c.id = a.candidate"
        " LEFT JOIN %s.verdict v ON v.id = a.verdict WHERE a.run = ? AND a.number <= ? ORDER BY "
        "a.number",
        schema, schema, schema);
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return kf_sql_fail(store, "merging", error);
    sqlite3_bind_int64(statement, 1, run);
    sqlite3_bind_int64(statement, 2, until);
    kf_autobuffer text = {0};
    memset(hash, 0, sizeof *hash);
    int rc;
    while ((rc = sqlite3_step(statement)) ==
           SQLITE_ROW) { /* Each hash covers the one before, so memory stays small. */
        kf_buffer_clear(&text);
        kf_buffer_append(&text, hash->bytes, sizeof hash->bytes);
        for (int i = 0; i < 8; i++) {
            const char *field = (const char *)sqlite3_column_text(statement, i);
            kf_buffer_format(&text, "%d:", sqlite3_column_bytes(statement, i));
            kf_buffer_string(&text, field ? field : "");
        }
        *hash = kf_hash_bytes(text.data, text.size);
    }
    sqlite3_finalize(statement);
    if (text.failed) return kf_fail_memory(error, "a merge");
    return rc == SQLITE_DONE || kf_sql_fail(store, "merging", error);
}

/* Decides which version of a run stays. *copy: that of the source. */
static bool compare_run(kf_store *store, const shared_run *run, bool *copy, kf_store_merged *merged,
                        kf_error *error)
{
    int64_t common = run->src_attempts < run->dst_attempts ? run->src_attempts : run->dst_attempts;
    kf_hash here, there;
    if (!history_hash(store, "src", run->src, common, &there, error) ||
        !history_hash(store, "main", run->dst, common, &here, error))
        return false;
    bool equal = memcmp(&here, &there, sizeof here) == 0;
    if (run->src_attempts != run->dst_attempts)
        *copy = run->src_attempts > run->dst_attempts;
    else
        *copy =
            equal ? run->src_updated > run->dst_updated : memcmp(&there, &here, sizeof here) > 0;
    merged->diverged += !equal;
    merged->replaced += *copy;
    return true;
}

static bool compare_runs(kf_store *store, kf_store_merged *merged, kf_error *error)
{
    kf_autobuffer list = {0};
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db,
                           "SELECT r.src, r.dst, s.attempts, m.attempts, s.updated, m.updated FROM "
                           "map_run r JOIN src.run s ON s.id = r.src"
                           " JOIN main.run m ON m.id = r.dst WHERE NOT r.fresh",
                           -1, &statement, NULL) != SQLITE_OK)
        return kf_sql_fail(store, "merging", error);
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        shared_run run = {sqlite3_column_int64(statement, 0),  sqlite3_column_int64(statement, 1),
                          sqlite3_column_int64(statement, 2),  sqlite3_column_int64(statement, 3),
                          sqlite3_column_double(statement, 4), sqlite3_column_double(statement, 5)};
        kf_buffer_append(&list, &run, sizeof run);
    }
    sqlite3_finalize(statement);
    if (rc != SQLITE_DONE) return kf_sql_fail(store, "merging", error);
    if (list.failed) return kf_fail_memory(error, "a merge");
    for (size_t i = 0; i < list.size / sizeof(shared_run); i++) {
        shared_run run;
        bool copy;
        memcpy(&run, list.data + i * sizeof run, sizeof run);
        if (!compare_run(store, &run, &copy, merged, error)) return false;
        if (copy && !kf_sql_do(store, error, "UPDATE temp.map_run SET copy = 1 WHERE src = ?", "i",
                               run.src))
            return false;
    }
    return true;
}

/* ---- which verdict stands -------------------------------------------------------------------- */

/* For candidates that this store had and that got another verdict: applies the rule of store.h to
 * all their verdicts, in the order in which they were made. */
static bool settle(kf_store *store, kf_error *error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(
            store->db,
            "SELECT v.id, v.status, v.blame, v.speedup, v.reverified, v.low, v.high, "
            "v.candidate, v.device FROM "
            "(SELECT DISTINCT n.candidate,"
            " n.device FROM map_verdict m CROSS JOIN src.verdict s ON s.id = m.src CROSS JOIN "
            "map_candidate c ON c.src = "
            "s.candidate"
            " CROSS JOIN main.verdict n ON n.id = m.dst WHERE m.fresh AND NOT c.fresh) x"
            " CROSS JOIN main.verdict v ON v.candidate = x.candidate AND v.device = x.device"
            " ORDER BY v.candidate, v.device, v.created, v.status, v.speedup, v.reverified",
            -1, &statement, NULL) != SQLITE_OK)
        return kf_sql_fail(store, "merging", error);
    kf_standing best = {0};
    int64_t candidate = 0, device = 0;
    bool ok = true;
    int rc;
    /* SQLite sorts the rows, so it has read them all before the first update. */
    while (ok && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        kf_standing next = kf_standing_read(statement, 0);
        bool first = sqlite3_column_int64(statement, 7) != candidate ||
                     sqlite3_column_int64(statement, 8) != device;
        candidate = sqlite3_column_int64(statement, 7);
        device = sqlite3_column_int64(statement, 8);
        if (!first && !kf_standing_replaces(&next, &best)) continue;
        best = next;
        ok = kf_sql_do(store, error,
                       "UPDATE verdict SET standing = (id = ?1) WHERE candidate = ?2 AND device = "
                       "?3 AND standing <> (id = ?1)",
                       "iii", next.verdict, candidate, device);
    }
    if (ok && rc != SQLITE_DONE) ok = kf_sql_fail(store, "merging", error);
    sqlite3_finalize(statement);
    return ok;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool count(kf_store *store, kf_store_merged *merged, kf_error *error)
{
    const struct {
        const char *sql;
        int64_t *target;
    } counts[] = {
        {"SELECT count(*) FROM map_task WHERE fresh", &merged->tasks},
        {"SELECT count(*) FROM map_run WHERE fresh", &merged->runs},
        {"SELECT coalesce(sum(s.attempts), 0) FROM map_run r JOIN src.run s ON s.id = r.src WHERE "
         "fresh",
         &merged->attempts},
        {"SELECT count(*) FROM map_candidate WHERE fresh", &merged->candidates},
        {"SELECT count(*) FROM map_verdict WHERE fresh", &merged->verdicts},
        {"SELECT count(*) FROM map_call WHERE fresh", &merged->model_calls},
        {"SELECT count(DISTINCT s.name) FROM map_task t JOIN src.task s ON s.id = t.src WHERE "
         "t.fresh AND"
         " (SELECT count(*) FROM main.task WHERE name = s.name) > 1",
         &merged->name_clashes},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int64_t value;
        if (!kf_sql_once(store, counts[i].sql, &value, "merging", error)) return false;
        *counts[i].target += value;
    }
    return true;
}

static bool merge_attached(kf_store *store, kf_store_merged *merged, kf_error *error)
{
    kf_store_merged fresh = *merged;
    if (!kf_store_begin(store, error)) return false;
    bool ok = run_section(store, "maps", error) && run_section(store, "content", error) &&
              run_section(store, "runs", error) && compare_runs(store, &fresh, error) &&
              run_section(store, "history", error) && settle(store, error) &&
              count(store, &fresh, error);
    if (!ok) return kf_store_rollback(store), false;
    if (!kf_store_commit(store, error)) return false;
    *merged = fresh;
    return true;
}

/* Finds out which store is at fault. Damage shows as an error of its own, or as rows that break a
 * constraint, which rows of two sound stores never do. */
static bool explain(kf_store *store, const char *source, const kf_error *failure, kf_error *error)
{
    bool damaged = failure->code == KF_ERROR_IO && strstr(failure->text, "damaged");
    if (!damaged && failure->code != KF_ERROR_INTERNAL) return kf_fail_copy(error, failure);
    kf_error found = {0};
    kf_auto(kf_store) other = kf_store_open(source, KF_STORE_READ, &found);
    bool at_fault = !other || !kf_store_check(other, &found);
    if (at_fault) return kf_fail_copy(error, &found);
    if (!damaged) return kf_fail_copy(error, failure);
    return kf_fail(error, KF_ERROR_IO,
                   "%s: merging: the store is damaged: restore a copy, or merge into a new one",
                   store->path);
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, two;
    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

bool kf_store_merge(kf_store *store, const char *source, kf_store_merged *merged, kf_error *error)
{
    {
        kf_auto(kf_store) other = kf_store_open(source, KF_STORE_READ, error);
        if (!other) return false;
    }
    if (store->group)
        return kf_fail(error, KF_ERROR_INTERNAL,
                       "%s: merging inside a group of writes: this is a bug in kforge",
                       store->path);
    if (same_file(store->path, source)) return merged->same = true;
    if (!kf_functions(store, error) || !kf_sql_do(store, error, "ATTACH ? AS src", "t", source))
        return false;
    /* Indices of hashes are written in random order, so they should stay in memory. */
    sqlite3_exec(store->db, "PRAGMA main.cache_size = -262144; PRAGMA src.cache_size = -16384",
                 NULL, NULL, NULL);
    kf_error failure = {0};
    bool ok = merge_attached(store, merged, &failure);
    sqlite3_exec(store->db, "DETACH src; PRAGMA main.cache_size = -16384", NULL, NULL, NULL);
    if (ok) return true;
    return explain(store, source, &failure, error);
}
