/* Finding candidates by id, content hash, canonical hash or machine code, and reading their sources
 * and verdicts. */
#include "internal.h"

#include <string.h>

#include "kforge/file.h"

bool kf_candidate_fill(kf_store *store, sqlite3_stmt *statement, kf_store_candidate *candidate,
                       kf_error *error)
{
    kf_text_column texts[] = {
        {3, &candidate->flags},   {4, &candidate->tunables}, {5, &candidate->features},
        {9, &candidate->cell},    {13, &candidate->message}, {14, &candidate->code_hash},
        {15, &candidate->device},
    };
    if (!kf_sql_texts(store, statement, &candidate->memory, texts, sizeof texts / sizeof *texts,
                      error))
        return false;
    candidate->id = sqlite3_column_int64(statement, 0);
    kf_sql_copy(statement, 1, candidate->hash, sizeof candidate->hash);
    kf_sql_copy(statement, 2, candidate->task, sizeof candidate->task);
    kf_sql_copy(statement, 6, candidate->run, sizeof candidate->run);
    candidate->attempt = sqlite3_column_int64(statement, 7);
    candidate->island = sqlite3_column_int(statement, 8);
    candidate->verdict = sqlite3_column_int64(statement, 10);
    candidate->status = kf_sql_status(statement, 11);
    candidate->blame = kf_sql_blame(statement, 12);
    candidate->speedup.value = kf_sql_double(statement, 16);
    candidate->speedup.low = kf_sql_double(statement, 17);
    candidate->speedup.high = kf_sql_double(statement, 18);
    candidate->reverified = sqlite3_column_int(statement, 19) != 0;
    candidate->build_seconds = kf_sql_double(statement, 20);
    candidate->judge_seconds = kf_sql_double(statement, 21);
    candidate->judged = kf_sql_double(statement, 22);
    return true;
}

/* Reads at most one row of a statement over KF_MEMBER_COLUMNS or KF_LONE_COLUMNS. */
static bool take_one(kf_store *store, sqlite3_stmt *statement, kf_store_candidate *candidate,
                     bool *found, kf_error *error)
{
    *found = false;
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row != 1) return row == 0;
    return *found = kf_candidate_fill(store, statement, candidate, error);
}

#define LONE_TABLES                                                                            \
    " FROM candidate c JOIN task t ON t.id = c.task JOIN verdict v ON v.candidate = c.id AND " \
    "v.standing = 1 JOIN device d ON "                                                         \
    "d.id = v.device "

bool kf_store_find_candidate(kf_store *store, const char *task, const char *hash,
                             const char *device, kf_store_candidate *candidate, bool *found,
                             kf_error *error)
{
    kf_autoreset *statement = kf_sql(store, error,
                                     "SELECT " KF_LONE_COLUMNS LONE_TABLES
                                     "WHERE t.hash = ?1 AND c.hash = ?2 AND (?3 IS NULL OR d.name "
                                     "= ?3) ORDER BY v.id DESC LIMIT 1",
                                     "ttt", task, hash, device);
    return take_one(store, statement, candidate, found, error);
}

bool kf_store_find_canonical(kf_store *store, const char *task, const char *canonical_hash,
                             const char *device, kf_store_candidate *candidate, bool *found,
                             kf_error *error)
{
    kf_autoreset *statement = kf_sql(
        store, error,
        "SELECT " KF_LONE_COLUMNS LONE_TABLES
        "WHERE t.hash = ?1 AND c.form = ?2 AND (?3 IS NULL OR d.name = ?3) ORDER BY v.id LIMIT 1",
        "ttt", task, canonical_hash, device);
    return take_one(store, statement, candidate, found, error);
}

bool kf_store_find_code(kf_store *store, const char *task, const char *code_hash,
                        const char *device, kf_store_candidate *candidate, bool *found,
                        kf_error *error)
{
    kf_autoreset *statement = kf_sql(
        store, error,
        "SELECT " KF_LONE_COLUMNS
        " FROM verdict v INDEXED BY verdict_code JOIN candidate c ON c.id = v.candidate"
        " JOIN task t ON t.id = v.task JOIN device d ON d.id = v.device"
        " WHERE v.code_hash = ?2 AND v.standing = 1 AND t.hash = ?1 AND (?3 IS NULL OR d.name = ?3)"
        " ORDER BY v.id LIMIT 1",
        "ttt", task, code_hash, device);
    return take_one(store, statement, candidate, found, error);
}

bool kf_store_get_candidate(kf_store *store, int64_t id, const char *run,
                            kf_store_candidate *candidate, kf_error *error)
{
    int64_t run_row = run ? kf_run_row(store, run, error) : 0;
    if (run && !run_row) return false;
    kf_autoreset *statement = kf_sql(
        store, error,
        "SELECT " KF_MEMBER_COLUMNS " FROM candidate c JOIN task t ON t.id = c.task"
        " LEFT JOIN member m ON m.run = ?2 AND m.candidate = c.id LEFT JOIN run r ON r.id = m.run"
        " LEFT JOIN verdict v ON v.id = coalesce(m.verdict, (SELECT max(id) FROM verdict"
        " WHERE candidate = c.id AND standing = 1),"
        /* A candidate with the machine code of another has that one's verdict. */
        " (SELECT b.verdict FROM run o CROSS JOIN member b ON b.run = o.id AND b.candidate = c.id"
        " ORDER BY o.id DESC LIMIT 1)) LEFT JOIN device d ON d.id = v.device WHERE "
        "c.id = ?1",
        "ii", id, run_row);
    bool found;
    if (!take_one(store, statement, candidate, &found, error)) return false;
    return found || kf_fail(error, KF_ERROR_INPUT, "%s: no candidate %lld in the store",
                            store->path, (long long)id);
}

bool kf_store_find_candidate_prefix(kf_store *store, const char *task, const char *prefix,
                                    kf_store_candidate *candidate, kf_error *error)
{
    size_t length = strspn(prefix, "0123456789abcdef");
    if (length < 4 || length >= KF_HASH_HEX || prefix[length])
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: %s is no candidate: give at least 4 hexadecimal digits of its hash",
                       store->path, prefix);
    int64_t ids[2];
    int count = 0, row;
    kf_autoreset *statement = kf_sql(store, error,
                                     "SELECT c.id FROM task t CROSS JOIN candidate c ON c.task = "
                                     "t.id WHERE (?1 IS NULL OR t.hash = ?1)"
                                     " AND c.hash >= ?2 AND c.hash < ?2 || 'g' LIMIT 2",
                                     "tt", task, prefix);
    if (!statement) return false;
    while ((row = kf_sql_step(store, statement, error)) == 1)
        ids[count++] = sqlite3_column_int64(statement, 0);
    if (row < 0) return false;
    if (count == 0)
        return kf_fail(error, KF_ERROR_INPUT, "%s: no candidate begins with %s", store->path,
                       prefix);
    if (count == 2)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: several candidates begin with %s: give more digits", store->path,
                       prefix);
    return kf_store_get_candidate(store, ids[0], NULL, candidate, error);
}

char *kf_store_source(kf_store *store, int64_t candidate, size_t *size, kf_error *error)
{
    int64_t blob = 0;
    int row = kf_sql_integer(store, &blob, error, "SELECT source FROM candidate WHERE id = ?", "i",
                             candidate);
    if (row == 0)
        kf_fail(error, KF_ERROR_INPUT, "%s: no candidate %lld in the store", store->path,
                (long long)candidate);
    return row == 1 ? kf_blob_get(store, blob, size, error) : NULL;
}

bool kf_store_write_source(kf_store *store, int64_t candidate, const char *path, kf_error *error)
{
    size_t size;
    kf_autofree char *source = kf_store_source(store, candidate, &size, error);
    return source && kf_file_write(path, source, size, error);
}

char *kf_store_verdict_json(kf_store *store, int64_t verdict, size_t *size, kf_error *error)
{
    kf_autoreset *statement = kf_sql(
        store, error, "SELECT size, codec, data FROM verdict_json WHERE verdict = ?", "i", verdict);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row == 0)
        kf_fail(error, KF_ERROR_INPUT, "%s: no verdict %lld in the store", store->path,
                (long long)verdict);
    return row == 1 ? kf_unpack(store, statement, 0, size, error) : NULL;
}
