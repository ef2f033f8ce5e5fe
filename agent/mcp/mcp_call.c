/* What a tool may ask of its call: cancellation and progress. */
#include "kforge/file.h"
#include "kforge/json.h"
#include "mcp_internal.h"

/* between two notifications */
#define INTERVAL_SECONDS 1.0

bool kf_mcp_is_cancelled(const kf_mcp_call *call)
{
    const kf_mcp_session *session = call->session;
    return atomic_load(call->cancelled) || atomic_load(&session->closed) ||
           (session->closed_too && atomic_load(session->closed_too));
}

void kf_mcp_progress(kf_mcp_call *call, double progress, double total, const char *message)
{
    kf_mcp_session *session = call->session;
    double now = kf_now();
    if (!call->progress_token || !session->send || !(progress > call->progress)) return;
    if (now - call->notified < INTERVAL_SECONDS) return;
    call->notified = now;
    call->progress = progress;
    kf_auto(cJSON) notification = cJSON_CreateObject();
    cJSON_AddStringToObject(notification, "jsonrpc", "2.0");
    cJSON_AddStringToObject(notification, "method", "notifications/progress");
    cJSON *params = cJSON_AddObjectToObject(notification, "params");
    cJSON_AddItemToObject(params, "progressToken", cJSON_Duplicate(call->progress_token, true));
    cJSON_AddNumberToObject(params, "progress", progress);
    if (total > 0) cJSON_AddNumberToObject(params, "total", total);
    /* Revision 2024-11-05 has no such field. */
    if (call->revision > KF_MCP_2024_11) cJSON_AddStringToObject(params, "message", message);
    char *text = cJSON_PrintUnformatted(notification);
    if (text) session->send(session->context, text);
    cJSON_free(text);
}
