/* Re-opening verdicts that turn out to be no verdicts: `kforge store repair`.
 *
 * The verdict stays, as a fault of the machine. Such a verdict stands for no candidate that has
 * another one, does not count as known, and has no label in an export. Its JSON keeps the old
 * status, blame, message and findings under "reopened". */
#include <cjson/cJSON.h>
#include <string.h>

#include "internal.h"
#include "kforge/json.h"
#include "kforge/store_maintenance.h"

/* Moves a field of `from` to `to`, and puts `fresh` in its place. A missing field stays missing. */
static bool replace_field(cJSON *from, const char *key, cJSON *fresh, cJSON *to)
{
    cJSON *old = cJSON_DetachItemFromObjectCaseSensitive(from, key);
    if (!old || !fresh) {
        cJSON_Delete(old);
        cJSON_Delete(fresh);
        return !old;
    }
    return cJSON_AddItemToObject(to, key, old) && cJSON_AddItemToObject(from, key, fresh);
}

static bool reopen_json(cJSON *verdict, const char *message)
{
    cJSON *old = cJSON_AddObjectToObject(verdict, "reopened");
    cJSON *workload;
    const char *status = kf_status_name(KF_JUDGE_ERROR);
    bool ok =
        old && replace_field(verdict, "status", cJSON_CreateString(status), old) &&
        replace_field(verdict, "blame", cJSON_CreateString(kf_blame_name(KF_BLAME_MACHINE)), old) &&
        replace_field(verdict, "message", cJSON_CreateString(message), old) &&
        replace_field(verdict, "findings", cJSON_CreateArray(), old);
    cJSON *workloads = ok ? cJSON_AddArrayToObject(old, "workloads") : NULL;
    cJSON_ArrayForEach(workload, cJSON_GetObjectItemCaseSensitive(verdict, "workloads"))
    {
        cJSON *part = workloads ? cJSON_CreateObject() : NULL;
        ok = ok && part && cJSON_AddItemToArray(workloads, part) &&
             replace_field(workload, "status", cJSON_CreateString(status), part) &&
             replace_field(workload, "findings", cJSON_CreateArray(), part);
    }
    return ok && workloads;
}

static bool rewrite_json(kf_store *store, int64_t verdict, const char *message, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_store_verdict_json(store, verdict, &size, error);
    if (!text) return false;
    cJSON *json = cJSON_ParseWithLength(text, size);
    bool ok = json && reopen_json(json, message);
    char *fresh = ok ? kf_json_print_exact(json) : NULL;
    cJSON_Delete(json);
    if (!fresh) return kf_fail_memory(error, "a verdict");
    kf_autopacked packed = {0};
    ok = kf_pack(store, KF_PACK_TEXT, fresh, strlen(fresh), &packed, error) &&
         kf_sql_do(store, error,
                   "UPDATE verdict_json SET size = ?, codec = ?, data = ? WHERE verdict = ?",
                   "inbi", packed.size, packed.codec, packed.data, packed.data_size, verdict);
    cJSON_free(fresh);
    return ok;
}

/* Decides again which verdict stands for the candidate of `verdict` on its device. */
static bool settle(kf_store *store, int64_t verdict, kf_error *error)
{
    kf_autoreset *all =
        kf_sql(store, error,
               "SELECT v.id, v.status, v.blame, v.speedup, v.reverified, v.low, v.high FROM "
               "verdict x JOIN "
               "verdict v ON v.candidate = x.candidate AND v.device = x.device WHERE x.id = ? "
               "ORDER BY v.created, v.id",
               "i", verdict);
    kf_standing best = {0};
    int row = all ? 1 : -1;
    while (row == 1 && (row = kf_sql_step(store, all, error)) == 1) {
        kf_standing next = kf_standing_read(all, 0);
        if (!best.verdict || kf_standing_replaces(&next, &best)) best = next;
    }
    return row == 0 &&
           kf_sql_do(store, error,
                     "UPDATE verdict SET standing = (id = ?1) WHERE candidate = (SELECT candidate "
                     "FROM verdict WHERE id = ?1) AND device = (SELECT device FROM verdict WHERE "
                     "id = ?1) AND standing <> (id = ?1)",
                     "i", best.verdict);
}

static bool reopen(kf_store *store, int64_t verdict, const char *message, kf_error *error)
{
    return rewrite_json(store, verdict, message, error) &&
           kf_sql_do(store, error,
                     "UPDATE verdict SET status = 'judge_error', blame = 'machine', message = ?, "
                     "speedup = NULL, low = NULL, high = NULL WHERE id = ?",
                     "ti", message, verdict) &&
           settle(store, verdict, error) && kf_members_follow(store, verdict, error);
}

bool kf_store_reopen(kf_store *store, int64_t verdict, const char *message, kf_error *error)
{
    return kf_write_begin(store, error) &&
           kf_write_end(store, reopen(store, verdict, message, error), error);
}

int kf_store_next_accusation(kf_store *store, int64_t after, int64_t *verdict, kf_error *error)
{
    return kf_sql_integer(store, verdict, error,
                          "SELECT id FROM verdict WHERE id > ? AND blame IN ('candidate', 'task') "
                          "ORDER BY id LIMIT 1",
                          "i", after);
}
