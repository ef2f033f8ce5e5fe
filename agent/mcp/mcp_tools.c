#include "mcp_tools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "output.h"

/* for a worker's hello */
#define START_SECONDS 10

/* ---- tasks ----------------------------------------------------------------------------------- */

kf_task *kf_mcp_task(const kf_mcp *server, const char *word, kf_error *error)
{
    bool found;
    kf_task *task = kf_served_task(&server->served, word, &found, error);
    if (found) return task;
    kf_error reason = {0};
    task = kf_service_task(server->jobs, word, &reason);
    if (task) return task;
    /* For a task that is not there, the service's reason has the words of its HTTP interface. */
    if (strstr(reason.text, "there is no task") || strstr(reason.text, "no task has"))
        kf_fail(error, KF_ERROR_INPUT, "%.128s: no such task; kforge_tasks lists them", word);
    else
        kf_fail(error, reason.code, "%s", reason.text);
    return NULL;
}

void kf_mcp_family(const kf_mcp *server, char family[16])
{
    kf_service_figures figures = {0};
    double until = kf_now() + START_SECONDS;
    for (;;) {
        kf_service_read_figures(server->jobs, &figures);
        if (figures.device[0] || kf_now() > until) break;
        usleep(20000);
    }
    snprintf(family, 16, "%s", figures.device[0] ? figures.device : "cpu");
    family[strcspn(family, ":")] = '\0';
}

kf_task *kf_mcp_stored_task(kf_store *store, const char *hash, kf_error *error)
{
    return kf_stored_task(store, hash, error);
}

/* ---- candidates ------------------------------------------------------------------------------ */

kf_store *kf_mcp_store(const kf_mcp *server, kf_store_mode mode, kf_error *error)
{
    const char *path = kf_service_store(server->jobs);
    if (path) return kf_store_open(path, mode, error);
    kf_fail(error, KF_ERROR_INPUT, "this server keeps no candidates; start it with a store");
    return NULL;
}

bool kf_mcp_candidate(kf_store *store, const char *word, kf_store_candidate *candidate,
                      kf_error *error)
{
    int64_t number;
    kf_error reason = {0};
    bool found = kf_candidate_parse(word, &number)
                     ? kf_store_get_candidate(store, number, NULL, candidate, &reason)
                     : kf_store_find_candidate_prefix(store, NULL, word, candidate, &reason);
    if (found || reason.code != KF_ERROR_INPUT) return found || kf_fail_copy(error, &reason);
    return kf_fail(error, KF_ERROR_INPUT,
                   "%.80s: no such candidate; give the id of kforge_eval, as c12, or see "
                   "kforge_history",
                   word);
}

kf_verdict *kf_mcp_verdict(kf_store *store, const kf_store_candidate *candidate, kf_error *error)
{
    size_t size;
    if (!candidate->verdict) {
        kf_fail(error, KF_ERROR_INPUT, "c%lld was never judged; call kforge_eval with its source",
                (long long)candidate->id);
        return NULL;
    }
    kf_autofree char *text = kf_store_verdict_json(store, candidate->verdict, &size, error);
    kf_auto(cJSON) json =
        text ? kf_json_parse(text, size, KF_STORE_BLOB_BYTES, "verdict in the store", error) : NULL;
    return json ? kf_verdict_from_json(json, error) : NULL;
}

static bool best_of(kf_store *store, const kf_store_scope *scope, kf_store_candidate *candidate,
                    bool *found, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_best(store, scope, 1, error);
    int row = cursor ? kf_store_next_candidate(cursor, candidate, error) : -1;
    *found = row == 1;
    return row >= 0;
}

bool kf_mcp_best(const kf_mcp *server, kf_store *store, const char *task,
                 kf_store_candidate *candidate, bool *found, kf_error *error)
{
    kf_service_figures figures = {0};
    kf_service_read_figures(server->jobs, &figures);
    kf_store_scope scope = {.task = task,
                            .device = figures.environment_id[0] ? figures.environment_id : NULL,
                            .island = -1,
                            .reverified = true};
    if (!best_of(store, &scope, candidate, found, error) || *found) return *found;
    scope.reverified = false;
    return best_of(store, &scope, candidate, found, error);
}

/* ---- figures --------------------------------------------------------------------------------- */

static cJSON *figure(double value)
{
    if (!isfinite(value)) return cJSON_CreateNull();
    char digits[32];
    snprintf(digits, sizeof digits, "%.4g", value);
    return cJSON_CreateNumber(strtod(digits, NULL));
}

void kf_mcp_add_speedup(cJSON *object, const char *key, kf_interval speedup)
{
    if (isnan(speedup.value)) {
        cJSON_AddNullToObject(object, key);
        return;
    }
    cJSON *list = cJSON_AddArrayToObject(object, key);
    cJSON_AddItemToArray(list, figure(speedup.value));
    cJSON_AddItemToArray(list, figure(speedup.low));
    cJSON_AddItemToArray(list, figure(speedup.high));
}

void kf_mcp_add_candidate(cJSON *object, const char *key, int64_t id)
{
    char text[32];
    snprintf(text, sizeof text, "c%lld", (long long)id);
    cJSON_AddStringToObject(object, key, text);
}
