/* kforge_history, kforge_best and kforge_diff: candidates of the store. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kforge/json.h"
#include "mcp_tools.h"
#include "text_diff.h"

#define HISTORY_SHOWN 10
/* about 700 tokens */
#define DIFF_BYTES 2500

/* ---- kforge_history -------------------------------------------------------------------------- */

/* Copies how a candidate came about: "tuned from c3", or "eval" if it has no parent. */
static bool move_of(kf_store *store, int64_t candidate, char text[64], kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_ancestors(store, candidate, NULL, error);
    kf_autoresult kf_store_edge edge = {0};
    int row = cursor ? kf_store_next_edge(cursor, &edge, error) : -1;
    snprintf(text, 64, "eval");
    if (row == 1) snprintf(text, 64, "%.24s c%lld", edge.role, (long long)edge.parent);
    return row >= 0;
}

static bool add_history(cJSON *rows, kf_store *store, const char *task, size_t limit,
                        kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_latest(store, task, limit, error);
    kf_autoresult kf_store_candidate candidate = {0};
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_store_next_candidate(cursor, &candidate, error)) == 1) {
        char move[64];
        if (!move_of(store, candidate.id, move, error)) return false;
        cJSON *object = cJSON_CreateObject();
        cJSON_AddItemToArray(rows, object);
        kf_mcp_add_candidate(object, "candidate", candidate.id);
        cJSON_AddStringToObject(object, "status", kf_status_name(candidate.status));
        kf_mcp_add_speedup(object, "speedup", candidate.speedup);
        cJSON_AddStringToObject(object, "move", move);
    }
    return row >= 0;
}

cJSON *kf_tool_history(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    size_t limit = (size_t)kf_json_get_number(arguments, "limit", HISTORY_SHOWN);
    kf_auto(kf_task) task =
        kf_mcp_task(call->server, kf_json_get_text(arguments, "task", ""), error);
    kf_auto(kf_store) store = task ? kf_mcp_store(call->server, KF_STORE_READ, error) : NULL;
    if (!store) return NULL;
    kf_auto(cJSON) answer = cJSON_CreateObject();
    cJSON *rows = cJSON_AddArrayToObject(answer, "history");
    return add_history(rows, store, kf_task_hash(task), limit, error) ? kf_steal(&answer) : NULL;
}

/* ---- kforge_best ----------------------------------------------------------------------------- */

cJSON *kf_tool_best(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    bool found, wants_source = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(arguments, "source"));
    kf_auto(kf_task) task =
        kf_mcp_task(call->server, kf_json_get_text(arguments, "task", ""), error);
    kf_auto(kf_store) store = task ? kf_mcp_store(call->server, KF_STORE_READ, error) : NULL;
    kf_autoresult kf_store_candidate best = {0};
    if (!store || !kf_mcp_best(call->server, store, kf_task_hash(task), &best, &found, error))
        return NULL;
    if (!found) {
        kf_fail(error, KF_ERROR_INPUT,
                "no candidate of %s has a speedup yet; write one and call kforge_eval",
                kf_task_name(task));
        return NULL;
    }
    kf_autofree char *source = wants_source ? kf_store_source(store, best.id, NULL, error) : NULL;
    if (wants_source && !source) return NULL;
    cJSON *answer = cJSON_CreateObject();
    kf_mcp_add_candidate(answer, "candidate", best.id);
    kf_mcp_add_speedup(answer, "speedup", best.speedup);
    cJSON_AddBoolToObject(answer, "verified", best.reverified);
    if (source) cJSON_AddStringToObject(answer, "source", source);
    return answer;
}

/* ---- kforge_diff ----------------------------------------------------------------------------- */

/* Cuts the text at the last whole line that fits. Returns the number of lines left out. */
static int cut_lines(char *text)
{
    int lines = 0;
    if (strlen(text) <= DIFF_BYTES) return 0;
    char *end = text + DIFF_BYTES;
    while (end > text && *end != '\n') end--;
    for (const char *c = end; *c; c++) lines += *c == '\n';
    *end = '\0';
    return lines;
}

cJSON *kf_tool_diff(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    kf_autoresult kf_store_candidate a = {0}, b = {0};
    kf_auto(kf_store) store = kf_mcp_store(call->server, KF_STORE_READ, error);
    if (!store || !kf_mcp_candidate(store, kf_json_get_text(arguments, "a", ""), &a, error) ||
        !kf_mcp_candidate(store, kf_json_get_text(arguments, "b", ""), &b, error))
        return NULL;
    kf_autofree char *left = kf_store_source(store, a.id, NULL, error);
    kf_autofree char *right = left ? kf_store_source(store, b.id, NULL, error) : NULL;
    kf_autofree char *text =
        right ? kf_text_diff(&(kf_diff_side){"a", left}, &(kf_diff_side){"b", right}, 1, error)
              : NULL;
    if (!text) return NULL;
    int left_out = cut_lines(text);
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "diff", text);
    if (left_out) cJSON_AddNumberToObject(answer, "lines_left_out", left_out);
    bool comparable = strcmp(a.task, b.task) == 0 && a.verdict && b.verdict &&
                      strcmp(a.device, b.device) == 0 && a.speedup.value > 0 && b.speedup.value > 0;
    if (comparable)
        cJSON_AddNumberToObject(answer, "ratio",
                                round(b.speedup.value / a.speedup.value * 1e3) / 1e3);
    else
        cJSON_AddNullToObject(answer, "ratio");
    return answer;
}
