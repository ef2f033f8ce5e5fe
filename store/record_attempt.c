/* Recording one finished attempt: candidate, lineage, verdict, samples, counters, population,
 * totals and search state, in one transaction.
 *
 * Checks of the caller's data and slow work (hashing, compressing) come before the first row is
 * written.
 */
#include "internal.h"

#include <math.h>
#include <string.h>

#include "kforge/json.h"

void kf_store_candidate_hash(const char *source, size_t size, const char *const *flags,
                             size_t flag_count, char hex[KF_HASH_HEX])
{
    kf_hash_parts_hex(hex, &source, &size, 1);
    for (size_t i = 0; i < flag_count; i++) { /* H(H(… H(source)), flag) */
        char before[KF_HASH_HEX];
        memcpy(before, hex, sizeof before);
        kf_hash_parts_hex(hex, (const char *const[]){before, flags[i]},
                          (size_t[]){KF_HASH_HEX - 1, strlen(flags[i])}, 2);
    }
}

/* Returns the flags as a JSON array, malloc'd. */
static char *flags_json(const kf_store_attempt_new *attempt, kf_error *error)
{
    if (!attempt->content.flag_count) {
        char *none = strdup("[]");
        if (!none) kf_fail_memory(error, "compiler flags");
        return none;
    }
    kf_auto(cJSON) array = cJSON_CreateArray();
    for (size_t i = 0; i < attempt->content.flag_count; i++)
        if (!cJSON_AddItemToArray(array, cJSON_CreateString(attempt->content.flags[i]))) break;
    char *text = array && (size_t)cJSON_GetArraySize(array) == attempt->content.flag_count
                     ? cJSON_PrintUnformatted(array)
                     : NULL;
    if (!text) kf_fail_memory(error, "compiler flags");
    return text;
}

static bool wrong_call(kf_store *store, const char *what, kf_error *error)
{
    return kf_fail(error, KF_ERROR_INTERNAL,
                   "%s: recording an attempt: %s: this is a bug in kforge", store->path, what);
}

static bool check(kf_store *store, const kf_store_attempt_new *attempt, kf_error *error)
{
    bool has_candidate = attempt->candidate || attempt->content.source;
    if (!attempt->run && !attempt->task)
        return wrong_call(store, "neither run nor task is given", error);
    if (!attempt->run && (attempt->parent_count || attempt->state))
        return wrong_call(store, "parents and state need a run", error);
    if (attempt->verdict && !attempt->verdict_json)
        return wrong_call(store, "the verdict's JSON text is missing", error);
    if (attempt->verdict && attempt->known_verdict)
        return wrong_call(store, "a new and a known verdict at once", error);
    if (!has_candidate &&
        (attempt->verdict || attempt->known_verdict || attempt->parent_count || attempt->counters))
        return wrong_call(store, "a verdict, parents or counters of no candidate", error);
    if (attempt->counters && !attempt->run && !attempt->device && !attempt->verdict)
        return wrong_call(store, "counters of no device", error);
    if (attempt->island < 0) return wrong_call(store, "a negative island", error);
    return true;
}

/* ---- pieces, all inside the transaction ------------------------------------------------------ */

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}
static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool candidate_exists(kf_store *store, int64_t candidate, int64_t task, kf_error *error)
{
    int64_t found;
    int row =
        kf_sql_integer(store, &found, error, "SELECT id FROM candidate WHERE id = ? AND task = ?",
                       "ii", candidate, task);
    if (row == 0)
        kf_fail(error, KF_ERROR_INPUT, "%s: no candidate %lld of this task in the store",
                store->path, (long long)candidate);
    return row == 1;
}

/* Stores a candidate and returns its id, 0 on error. */
static int64_t insert_candidate(kf_store *store, const kf_store_attempt_new *attempt, int64_t task,
                                const char *hash, kf_error *error)
{
    kf_autofree char *flags = flags_json(attempt, error);
    int64_t source =
        flags ? kf_blob_put(store, attempt->content.source, attempt->content.source_size, error)
              : 0;
    if (!source ||
        !kf_sql_do(
            store, error,
            "INSERT INTO candidate (task, hash, source, flags, tunables, features, created, form)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            "ititttdt", task, hash, source, flags, attempt->content.tunables,
            attempt->content.features, kf_store_time(), or_null(attempt->content.canonical_hash)))
        return 0;
    int64_t candidate = sqlite3_last_insert_rowid(store->db);
    return kf_sql_do(store, error, "UPDATE task SET candidates = candidates + 1 WHERE id = ?", "i",
                     task)
               ? candidate
               : 0;
}

/* Finds or stores the candidate and returns its id, 0 on error. Adds texts that only this attempt
 * has. */
static int64_t put_candidate(kf_store *store, const kf_store_attempt_new *attempt, int64_t task,
                             bool *is_new, kf_error *error)
{
    *is_new = false;
    int64_t candidate = attempt->candidate;
    if (candidate && !candidate_exists(store, candidate, task, error)) return 0;
    if (!candidate) {
        char hash[KF_HASH_HEX];
        kf_store_candidate_hash(attempt->content.source, attempt->content.source_size,
                                attempt->content.flags, attempt->content.flag_count, hash);
        int row = kf_sql_integer(store, &candidate, error,
                                 "SELECT id FROM candidate WHERE task = ? AND hash = ?", "it", task,
                                 hash);
        *is_new = row == 0;
        if (*is_new) return insert_candidate(store, attempt, task, hash, error);
        if (row < 0) return 0;
    }
    bool more = attempt->content.tunables || attempt->content.features ||
                or_null(attempt->content.canonical_hash);
    if (more &&
        !kf_sql_do(store, error,
                   "UPDATE candidate SET tunables = coalesce(?, tunables), features = coalesce(?, "
                   "features),"
                   " form = coalesce(?, form) WHERE id = ?",
                   "ttti", attempt->content.tunables, attempt->content.features,
                   or_null(attempt->content.canonical_hash), candidate))
        return 0;
    return candidate;
}

/* Decides whether the new verdict stands for its candidate on its device. If it does, the old one
 * no longer stands. */
static bool settle_standing(kf_store *store, int64_t candidate, int64_t device,
                            const kf_standing *fresh, bool is_new, bool *stands, kf_error *error)
{
    *stands = true;
    if (is_new) return true;
    kf_autoreset *statement =
        kf_sql(store, error,
               "SELECT id, status, blame, speedup, reverified, low, high "
               "FROM verdict WHERE candidate = ? AND device = ? AND standing = 1",
               "ii", candidate, device);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row != 1) return row == 0;
    kf_standing old = kf_standing_read(statement, 0);
    sqlite3_reset(statement);
    *stands = kf_standing_replaces(fresh, &old);
    return !*stands || kf_sql_do(store, error, "UPDATE verdict SET standing = 0 WHERE id = ?", "i",
                                 old.verdict);
}

static bool insert_verdict(kf_store *store, const kf_verdict *verdict, int64_t candidate,
                           int64_t task, int64_t device, bool stands, kf_standing *standing,
                           kf_error *error)
{
    if (!kf_sql_do(store, error,
                   "INSERT INTO verdict (candidate, task, device, status, blame, speedup, low, "
                   "high, reverified, standing, binary_hash,"
                   " code_hash, message, build_seconds, judge_seconds, created) VALUES (?, ?, ?, "
                   "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   "iiittdddnntttddd", candidate, task, device, kf_status_name(verdict->status),
                   kf_blame_name(verdict->blame), standing->speedup, standing->low, standing->high,
                   (int)verdict->reverified, (int)stands, or_null(verdict->binary_hash),
                   or_null(verdict->code_hash), or_empty(verdict->message), verdict->build_seconds,
                   verdict->judge_seconds, kf_store_time()))
        return false;
    standing->verdict = sqlite3_last_insert_rowid(store->db);
    return true;
}

static bool put_verdict(kf_store *store, const kf_store_attempt_new *attempt, const kf_packed *json,
                        int64_t candidate, bool is_new, int64_t task, int64_t device,
                        kf_standing *standing, kf_error *error)
{
    const kf_verdict *verdict = attempt->verdict;
    bool timed = verdict->status == KF_CORRECT && isfinite(verdict->speedup.value);
    *standing = (kf_standing){.status = verdict->status,
                              .blame = verdict->blame,
                              .speedup = timed ? verdict->speedup.value : NAN,
                              .low = timed ? verdict->speedup.low : NAN,
                              .high = timed ? verdict->speedup.high : NAN,
                              .reverified = verdict->reverified};
    bool stands;
    if (!settle_standing(store, candidate, device, standing, is_new, &stands, error) ||
        !insert_verdict(store, verdict, candidate, task, device, stands, standing, error) ||
        !kf_sql_do(store, error,
                   "INSERT INTO verdict_json (verdict, size, codec, data) VALUES (?, ?, ?, ?)",
                   "iinb", standing->verdict, json->size, json->codec, json->data, json->data_size))
        return false;
    return kf_samples_put(store, standing->verdict, verdict, error);
}

/* Reads a stored verdict that counts here too: on this candidate, or on one with the same machine
 * code. */
static bool reuse_verdict(kf_store *store, int64_t verdict, int64_t task, kf_standing *standing,
                          kf_error *error)
{
    kf_autoreset *statement = kf_sql(
        store, error,
        "SELECT id, status, blame, speedup, reverified, low, high FROM verdict WHERE id = ? AND "
        "task = ?",
        "ii", verdict, task);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row == 0)
        kf_fail(error, KF_ERROR_INPUT, "%s: no verdict %lld of this task in the store", store->path,
                (long long)verdict);
    if (row == 1) *standing = kf_standing_read(statement, 0);
    return row == 1;
}

static bool put_lineage(kf_store *store, const kf_store_attempt_new *attempt, int64_t number,
                        int64_t child, kf_error *error)
{
    for (size_t i = 0; i < attempt->parent_count; i++) {
        int64_t parent = attempt->parents[i].candidate;
        if (kf_sql_do(store, error,
                      "INSERT INTO lineage (run, attempt, ordinal, child, parent, role)"
                      " VALUES (?, ?, ?, ?, (SELECT id FROM candidate WHERE id = ?), ?)",
                      "iiniit", store->run, number, (int)i, child, parent,
                      or_empty(attempt->parents[i].role)))
            continue;
        bool missing = sqlite3_extended_errcode(store->db) == SQLITE_CONSTRAINT_NOTNULL;
        return missing ? kf_row_refer(store, 0, error) : false;
    }
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct recording {
    const kf_store_attempt_new *attempt;
    kf_packed json, state, counters;
    /* of the verdict */
    int64_t task, device;
    kf_store_recorded result;
    kf_standing standing;
} recording;

static bool resolve(kf_store *store, recording *r, kf_error *error)
{
    const kf_store_attempt_new *attempt = r->attempt;
    if (attempt->run) {
        if (!kf_run_load(store, attempt->run, error)) return false;
        r->task = store->run_task;
        r->device = store->run_device;
    } else if (!(r->task = kf_task_row(store, attempt->task, error)))
        return false;
    const char *device = attempt->device    ? attempt->device
                         : attempt->run     ? NULL
                         : attempt->verdict ? or_empty(attempt->verdict->device)
                                            : NULL;
    return !device || (r->device = kf_device_row(store, device, error));
}

static bool write_candidate(kf_store *store, recording *r, kf_error *error)
{
    const kf_store_attempt_new *attempt = r->attempt;
    if (!attempt->candidate && !attempt->content.source) return true;
    r->result.candidate = put_candidate(store, attempt, r->task, &r->result.is_new, error);
    if (!r->result.candidate) return false;
    if (attempt->verdict && !put_verdict(store, attempt, &r->json, r->result.candidate,
                                         r->result.is_new, r->task, r->device, &r->standing, error))
        return false;
    if (attempt->known_verdict &&
        !reuse_verdict(store, attempt->known_verdict, r->task, &r->standing, error))
        return false;
    r->result.verdict = r->standing.verdict;
    return !attempt->counters ||
           kf_sql_do(store, error,
                     "INSERT OR REPLACE INTO counters (candidate, device, size, codec, data, "
                     "created) VALUES (?, ?, ?, ?, ?, ?)",
                     "iiinbd", r->result.candidate, r->device, r->counters.size, r->counters.codec,
                     r->counters.data, r->counters.data_size, kf_store_time());
}

/* A parameter that 0 makes NULL. */
#define NULLABLE "nullif(?, 0)"

static bool insert_attempt(kf_store *store, const recording *r, kf_error *error)
{
    const kf_store_attempt_new *attempt = r->attempt;
    if (attempt->model_call) {
        int64_t found;
        int row = kf_sql_integer(store, &found, error, "SELECT id FROM model_call WHERE id = ?",
                                 "i", attempt->model_call);
        if (!kf_row_refer(store, row, error)) return false;
    }
    return kf_sql_do(store, error,
                     "INSERT INTO attempt (run, number, outcome, message, proposer, strategy, "
                     "step, island, model_call, candidate, verdict,"
                     " began, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, " NULLABLE ", " NULLABLE
                     ", " NULLABLE ", " NULLABLE ", ?)",
                     "iitttttniiiid", store->run, r->result.attempt,
                     kf_attempt_outcome_name(attempt->outcome), or_empty(attempt->message),
                     or_empty(attempt->proposer), or_empty(attempt->strategy),
                     or_empty(attempt->step), attempt->island, attempt->model_call,
                     r->result.candidate, r->result.verdict, attempt->began, kf_store_time());
}

/* Writes the rows of the run: its totals, the attempt with its parents, the population, the search
 * state. */
static bool write_attempt(kf_store *store, recording *r, kf_error *error)
{
    const kf_store_attempt_new *attempt = r->attempt;
    kf_member_change change = {0};
    if (r->result.verdict && !kf_member_plan(store, store->run, r->result.candidate,
                                             r->result.is_new, &r->standing, &change, error))
        return false;
    /* There are two statements because RETURNING would open a temporary table each time. */
    if (!kf_sql_do(store, error,
                   "UPDATE run SET attempts = attempts + 1, judged = judged + ?, correct = correct "
                   "+ ?, updated = ? WHERE id = ?",
                   "nndi", change.more_judged, change.more_correct, kf_store_time(), store->run))
        return false;
    int row = 1;
    if (store->attempts)
        store->attempts++;
    else
        row = kf_sql_integer(store, &store->attempts, error,
                             "SELECT attempts FROM run WHERE id = ?", "i", store->run);
    r->result.attempt = store->attempts;
    if (row == 0)
        kf_fail(error, KF_ERROR_IO, "%s: run %s is gone from the store", store->path, attempt->run);
    return row == 1 && insert_attempt(store, r, error) &&
           put_lineage(store, attempt, r->result.attempt, r->result.candidate, error) &&
           kf_member_apply(store, store->run, r->result.candidate, r->result.attempt,
                           attempt->island, attempt->cell, &r->standing, &change, error) &&
           (!attempt->state || kf_state_put(store, store->run, &r->state, error));
}

static bool prepare(kf_store *store, recording *r, kf_error *error)
{
    const kf_store_attempt_new *attempt = r->attempt;
    return check(store, attempt, error) &&
           (!attempt->verdict || kf_pack(store, KF_PACK_TEXT, attempt->verdict_json,
                                         attempt->verdict_size, &r->json, error)) &&
           (!attempt->state ||
            kf_pack(store, KF_PACK_FAST, attempt->state, attempt->state_size, &r->state, error)) &&
           (!attempt->counters || kf_pack(store, KF_PACK_TEXT, attempt->counters,
                                          strlen(attempt->counters), &r->counters, error));
}

static bool record(kf_store *store, recording *r, kf_error *error)
{
    if (!prepare(store, r, error)) return false;
    if (!kf_write_begin(store, error)) return false;
    bool ok = resolve(store, r, error) && write_candidate(store, r, error) &&
              (!r->attempt->run || write_attempt(store, r, error));
    return kf_write_end(store, ok, error);
}

bool kf_store_record(kf_store *store, const kf_store_attempt_new *attempt,
                     kf_store_recorded *recorded, kf_error *error)
{
    recording r = {.attempt = attempt};
    bool ok = record(store, &r, error);
    kf_cleanup_packed(&r.json);
    kf_cleanup_packed(&r.state);
    kf_cleanup_packed(&r.counters);
    if (ok && recorded) *recorded = r.result;
    return ok;
}
