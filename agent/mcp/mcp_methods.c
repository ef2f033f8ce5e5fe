/* The methods of the protocol, for each of its revisions. */
#include <stdarg.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/verdict.h"
#include "mcp_internal.h"

#define META "io.modelcontextprotocol/"
/* Tools never change while the program runs. */
#define LIST_MILLISECONDS 3600000

static const char *const revisions[KF_MCP_REVISIONS] = {
    [KF_MCP_2024_11] = "2024-11-05", [KF_MCP_2025_03] = "2025-03-26",
    [KF_MCP_2025_06] = "2025-06-18", [KF_MCP_2025_11] = "2025-11-25",
    [KF_MCP_2026_07] = "2026-07-28",
};

static const char episode_instructions[] =
    "kforge judges CUDA kernels. Read TASK.md, edit candidate.cu, call kforge_eval until it is "
    "correct and fast, then kforge_submit.";
static const char instructions[] =
    "kforge judges CUDA kernels: it compares them with an oracle and times them. Call kforge_task, "
    "write a .cu file, call kforge_eval until it is correct and fast, then kforge_submit.";

kf_mcp_revision kf_mcp_revision_of(const char *name)
{
    for (int i = 0; name && i < KF_MCP_REVISIONS; i++)
        if (strcmp(revisions[i], name) == 0) return (kf_mcp_revision)i;
    return KF_MCP_UNDECIDED;
}

/* ---- responses ------------------------------------------------------------------------------- */

static cJSON *new_response(const cJSON *id)
{
    cJSON *response = cJSON_CreateObject();
    cJSON_AddStringToObject(response, "jsonrpc", "2.0");
    cJSON_AddItemToObject(response, "id", id ? cJSON_Duplicate(id, true) : cJSON_CreateNull());
    return response;
}

/* Adds text that may be cut inside a character or hold control characters. */
static void add_clean(cJSON *object, const char *key, const char *text)
{
    kf_autofree char *clean = kf_text_clean(text, strlen(text), false);
    cJSON_AddStringToObject(object, key, clean ? clean : "out of memory");
}

cJSON *kf_mcp_error(const cJSON *id, int code, cJSON *data, const char *format, ...)
{
    kf_autobuffer text = {.limit = 4096};
    va_list arguments;
    va_start(arguments, format);
    kf_buffer_format_va(&text, format, arguments);
    va_end(arguments);
    cJSON *response = new_response(id), *fault = cJSON_AddObjectToObject(response, "error");
    cJSON_AddNumberToObject(fault, "code", code);
    add_clean(fault, "message", text.data ? text.data : "error");
    if (data) cJSON_AddItemToObject(fault, "data", data);
    return response;
}

static void add_server_info(cJSON *object, const char *key)
{
    cJSON *info = cJSON_AddObjectToObject(object, key);
    cJSON_AddStringToObject(info, "name", "kforge");
    cJSON_AddStringToObject(info, "version", KFORGE_VERSION);
}

/* Makes the response of a result, which it takes over. */
static cJSON *succeed(kf_mcp_revision revision, const cJSON *id, cJSON *result)
{
    cJSON *response = new_response(id);
    if (revision == KF_MCP_2026_07) {
        cJSON_AddStringToObject(result, "resultType", "complete");
        add_server_info(cJSON_AddObjectToObject(result, "_meta"), META "serverInfo");
    }
    cJSON_AddItemToObject(response, "result", result);
    return response;
}

static void add_cache_terms(cJSON *result)
{
    cJSON_AddNumberToObject(result, "ttlMs", LIST_MILLISECONDS);
    cJSON_AddStringToObject(result, "cacheScope", "public");
}

static void add_capabilities(const kf_mcp *server, cJSON *result)
{
    cJSON_AddObjectToObject(cJSON_AddObjectToObject(result, "capabilities"), "tools");
    cJSON_AddStringToObject(result, "instructions",
                            server->questions ? episode_instructions : instructions);
}

/* ---- the stateless envelope ------------------------------------------------------------------ */

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const cJSON *meta_of(const cJSON *message)
{
    return get(get(message, "params"), "_meta");
}

bool kf_mcp_has_envelope(const cJSON *message)
{
    return get(meta_of(message), META "protocolVersion") != NULL;
}

static cJSON *unsupported(const cJSON *id, const char *requested)
{
    cJSON *data = cJSON_CreateObject(), *supported = cJSON_AddArrayToObject(data, "supported");
    cJSON_AddItemToArray(supported, cJSON_CreateString(revisions[KF_MCP_2026_07]));
    if (requested) cJSON_AddStringToObject(data, "requested", requested);
    return kf_mcp_error(id, KF_MCP_UNSUPPORTED_VERSION, data,
                        "this connection serves revision 2026-07-28");
}

/* Returns the error response for a request without a valid envelope, else NULL. */
static cJSON *check_envelope(const cJSON *id, const cJSON *message)
{
    static const char *const keys[] = {META "protocolVersion", META "clientCapabilities"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!get(meta_of(message), keys[i]))
            return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL, "params._meta lacks \"%s\"",
                                keys[i]);
    const char *version = cJSON_GetStringValue(get(meta_of(message), keys[0]));
    if (!version)
        return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL, "\"%s\" has to be a string", keys[0]);
    if (!cJSON_IsObject(get(meta_of(message), keys[1])))
        return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL, "\"%s\" has to be an object", keys[1]);
    return strcmp(version, revisions[KF_MCP_2026_07]) == 0 ? NULL : unsupported(id, version);
}

/* ---- methods --------------------------------------------------------------------------------- */

static cJSON *initialize(kf_mcp_session *session, const cJSON *id, const cJSON *params)
{
    const char *wanted = cJSON_GetStringValue(get(params, "protocolVersion"));
    if (!wanted)
        return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL,
                            "params.protocolVersion has to be a string");
    if (!cJSON_IsObject(get(params, "capabilities")) || !cJSON_IsObject(get(params, "clientInfo")))
        return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL,
                            "params.capabilities and params.clientInfo have to be objects");
    kf_mcp_revision revision = kf_mcp_revision_of(wanted);
    if (revision == KF_MCP_UNDECIDED || revision == KF_MCP_2026_07) revision = KF_MCP_2025_11;
    pthread_mutex_lock(&session->lock);
    bool again = session->revision != KF_MCP_UNDECIDED;
    if (!again) session->revision = revision;
    pthread_mutex_unlock(&session->lock);
    if (again)
        return kf_mcp_error(id, KF_MCP_INVALID_REQUEST, NULL,
                            "this connection is initialized already");
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "protocolVersion", revisions[revision]);
    add_capabilities(session->server, result);
    add_server_info(result, "serverInfo");
    return succeed(revision, id, result);
}

static cJSON *discover(const kf_mcp *server, const cJSON *id)
{
    cJSON *result = cJSON_CreateObject();
    cJSON *versions = cJSON_AddArrayToObject(result, "supportedVersions");
    cJSON_AddItemToArray(versions, cJSON_CreateString(revisions[KF_MCP_2026_07]));
    add_capabilities(server, result);
    add_cache_terms(result);
    return succeed(KF_MCP_2026_07, id, result);
}

static cJSON *list_tools(const kf_mcp *server, kf_mcp_revision revision, const cJSON *id,
                         const cJSON *params)
{
    if (get(params, "cursor"))
        return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL,
                            "params.cursor is unknown: the list has one page");
    cJSON *result = cJSON_CreateObject(), *tools = cJSON_Duplicate(server->tools, true), *tool;
    cJSON_ArrayForEach(tool, tools)
    {
        if (revision < KF_MCP_2025_03) cJSON_DeleteItemFromObject(tool, "annotations");
    }
    cJSON_AddItemToObject(result, "tools", tools);
    if (revision == KF_MCP_2026_07) add_cache_terms(result);
    return succeed(revision, id, result);
}

static const cJSON *find_schema(const kf_mcp *server, const char *name)
{
    const cJSON *tool;
    cJSON_ArrayForEach(tool, server->tools)
    {
        if (strcmp(cJSON_GetStringValue(get(tool, "name")), name) == 0)
            return get(tool, "inputSchema");
    }
    return NULL;
}

/* Makes the result of a call: content as text and as JSON, or the text of the failure. */
static cJSON *tool_result(kf_mcp_revision revision, cJSON *content, const kf_error *failure)
{
    cJSON *result = cJSON_CreateObject(), *parts = cJSON_AddArrayToObject(result, "content");
    cJSON *part = cJSON_CreateObject();
    char *text = content ? cJSON_PrintUnformatted(content) : NULL;
    cJSON_AddItemToArray(parts, part);
    cJSON_AddStringToObject(part, "type", "text");
    if (content)
        cJSON_AddStringToObject(part, "text", text ? text : "{}");
    else
        add_clean(part, "text", failure->text);
    cJSON_free(text);
    if (content && revision >= KF_MCP_2025_06)
        cJSON_AddItemToObject(result, "structuredContent", content);
    else
        cJSON_Delete(content);
    cJSON_AddBoolToObject(result, "isError", content == NULL);
    return result;
}

static const cJSON *progress_token(const cJSON *message)
{
    const cJSON *token = get(meta_of(message), "progressToken");
    return cJSON_IsString(token) || cJSON_IsNumber(token) ? token : NULL;
}

static cJSON *call_tool(kf_mcp_session *session, kf_mcp_revision revision, const cJSON *id,
                        const cJSON *message, const atomic_bool *cancelled)
{
    const cJSON *params = get(message, "params"), *arguments = get(params, "arguments");
    const char *name = cJSON_GetStringValue(get(params, "name"));
    if (!name)
        return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL, "params.name has to be a string");
    if (arguments && !cJSON_IsObject(arguments))
        return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL,
                            "params.arguments has to be an object");
    kf_mcp_tool *tool = kf_mcp_find_tool(session->server, name);
    if (!tool)
        return kf_mcp_error(id, KF_MCP_INVALID_PARAMS, NULL,
                            "%.64s: no tool has this name; tools/list has all", name);
    kf_mcp_call call = {.server = session->server,
                        .session = session,
                        .revision = revision,
                        .cancelled = cancelled,
                        .progress_token = progress_token(message),
                        .notified = kf_now()};
    kf_auto(cJSON) empty = arguments ? NULL : cJSON_CreateObject();
    if (!arguments) arguments = empty;
    kf_error error = {0};
    cJSON *content = NULL;
    if (kf_mcp_check_arguments(find_schema(session->server, name), arguments, &error))
        content = tool(&call, arguments, &error);
    return succeed(revision, id, tool_result(revision, content, &error));
}

/* ---- choosing -------------------------------------------------------------------------------- */

static cJSON *respond_in(kf_mcp_session *session, kf_mcp_revision revision, const cJSON *message,
                         const atomic_bool *cancelled)
{
    const cJSON *id = get(message, "id"), *params = get(message, "params");
    const char *method = cJSON_GetStringValue(get(message, "method"));
    bool stateless = revision == KF_MCP_2026_07;
    if (strcmp(method, "tools/list") == 0) return list_tools(session->server, revision, id, params);
    if (strcmp(method, "tools/call") == 0)
        return call_tool(session, revision, id, message, cancelled);
    if (stateless && strcmp(method, "server/discover") == 0) return discover(session->server, id);
    if (!stateless && strcmp(method, "ping") == 0)
        return succeed(revision, id, cJSON_CreateObject());
    return kf_mcp_error(id, KF_MCP_UNKNOWN_METHOD, NULL, "%.64s: no such method in revision %s",
                        method, revisions[revision]);
}

/* Answers a request of the stateless revision, and lets the first valid one decide. */
static cJSON *respond_stateless(kf_mcp_session *session, const cJSON *message,
                                const atomic_bool *cancelled)
{
    const cJSON *id = get(message, "id");
    if (strcmp(cJSON_GetStringValue(get(message, "method")), "initialize") == 0)
        return unsupported(id,
                           cJSON_GetStringValue(get(get(message, "params"), "protocolVersion")));
    cJSON *fault = check_envelope(id, message);
    if (fault) return fault;
    pthread_mutex_lock(&session->lock);
    if (session->revision == KF_MCP_UNDECIDED) session->revision = KF_MCP_2026_07;
    pthread_mutex_unlock(&session->lock);
    return respond_in(session, KF_MCP_2026_07, message, cancelled);
}

cJSON *kf_mcp_respond(kf_mcp_session *session, const cJSON *message, const atomic_bool *cancelled)
{
    const cJSON *id = get(message, "id");
    const char *method = cJSON_GetStringValue(get(message, "method"));
    pthread_mutex_lock(&session->lock);
    kf_mcp_revision revision = session->revision;
    pthread_mutex_unlock(&session->lock);
    bool initializes = strcmp(method, "initialize") == 0;
    if (revision == KF_MCP_2026_07) return respond_stateless(session, message, cancelled);
    if (initializes) return initialize(session, id, get(message, "params"));
    if (revision != KF_MCP_UNDECIDED && kf_mcp_has_envelope(message))
        return kf_mcp_error(id, KF_MCP_INVALID_REQUEST, NULL,
                            "this connection was initialized for revision %s; a request must not "
                            "name another",
                            revisions[revision]);
    if (revision != KF_MCP_UNDECIDED) return respond_in(session, revision, message, cancelled);
    if (kf_mcp_has_envelope(message) || strcmp(method, "server/discover") == 0)
        return respond_stateless(session, message, cancelled);
    if (strcmp(method, "ping") == 0) return succeed(KF_MCP_2024_11, id, cJSON_CreateObject());
    return kf_mcp_error(id, KF_MCP_INVALID_REQUEST, NULL,
                        "%.64s: send initialize first, or name the revision in params._meta",
                        method);
}
