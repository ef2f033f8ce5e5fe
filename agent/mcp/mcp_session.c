/* Sessions and requests: JSON-RPC's frame around a message, batches, and cancellation. */
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "kforge/verdict.h"
#include "mcp_internal.h"

typedef struct entry {
    /* borrowed from the request's tree */
    const cJSON *message, *id;
    /* The answer if the message is no valid request. Owned. */
    cJSON *fault;
    atomic_bool cancelled;
} entry;

struct kf_mcp_request {
    kf_mcp_session *session;
    kf_mcp_request *next;
    cJSON *tree;
    bool batch;
    size_t count;
    entry entries[];
};

#define BATCH_MOST 64

kf_mcp_session *kf_mcp_session_new(kf_mcp *server, kf_mcp_send *send, void *context)
{
    kf_mcp_session *session = calloc(1, sizeof *session);
    if (!session) return NULL;
    session->server = server;
    session->send = send;
    session->context = context;
    session->revision = KF_MCP_UNDECIDED;
    pthread_mutex_init(&session->lock, NULL);
    return session;
}

void kf_mcp_session_close(kf_mcp_session *session)
{
    atomic_store(&session->closed, true);
}

void kf_mcp_session_free(kf_mcp_session *session)
{
    if (!session) return;
    pthread_mutex_destroy(&session->lock);
    free(session);
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool is_id(const cJSON *id)
{
    if (cJSON_IsString(id)) return true;
    return cJSON_IsNumber(id) && id->valuedouble >= -9007199254740992.0 &&
           id->valuedouble <= 9007199254740992.0 &&
           (double)(long long)id->valuedouble == id->valuedouble;
}

static const char *method_of(const cJSON *message)
{
    return kf_json_get_text(message, "method", NULL);
}

static const cJSON *params_of(const cJSON *message)
{
    return cJSON_GetObjectItemCaseSensitive(message, "params");
}

/* Returns the fault of a message, NULL for a valid request, notification or response. */
static const char *fault_of(const cJSON *message)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(message, "id"), *params = params_of(message);
    const char *version = kf_json_get_text(message, "jsonrpc", NULL);
    if (!cJSON_IsObject(message)) return "a message is a JSON object";
    if (!version || strcmp(version, "2.0") != 0) return "\"jsonrpc\" has to be \"2.0\"";
    if (cJSON_HasObjectItem(message, "result") || cJSON_HasObjectItem(message, "error"))
        return NULL;
    if (id && !is_id(id)) return "\"id\" has to be a string or an integer";
    if (!method_of(message)) return "\"method\" has to be a string";
    if (params && !cJSON_IsObject(params)) return "\"params\" has to be an object";
    return NULL;
}

/* ---- requests in flight ---------------------------------------------------------------------- */

static bool is_in_flight(const kf_mcp_session *session, const cJSON *id)
{
    for (const kf_mcp_request *r = session->in_flight; r; r = r->next)
        for (size_t i = 0; i < r->count; i++)
            if (r->entries[i].id && cJSON_Compare(r->entries[i].id, id, true)) return true;
    return false;
}

/* Enters a request. An id that is in flight already becomes its fault. */
static void enter(kf_mcp_request *request)
{
    kf_mcp_session *session = request->session;
    pthread_mutex_lock(&session->lock);
    for (size_t i = 0; i < request->count; i++) {
        entry *e = &request->entries[i];
        bool twice = e->id && is_in_flight(session, e->id);
        for (size_t j = 0; j < i && e->id && !twice; j++)
            twice = request->entries[j].id && cJSON_Compare(request->entries[j].id, e->id, true);
        bool crowded = session->count >= KF_MCP_CALLS;
        if (!e->fault && e->id && (twice || crowded))
            e->fault = kf_mcp_error(
                e->id, KF_MCP_INVALID_REQUEST, NULL, "%s",
                twice ? "another request with this id is in flight; use an id once"
                      : "too many requests in flight; wait for an answer, then ask again");
    }
    request->next = session->in_flight;
    session->in_flight = request;
    session->count++;
    pthread_mutex_unlock(&session->lock);
}

static void leave(kf_mcp_request *request)
{
    kf_mcp_session *session = request->session;
    pthread_mutex_lock(&session->lock);
    kf_mcp_request **link = &session->in_flight;
    while (*link != request) link = &(*link)->next;
    *link = request->next;
    session->count--;
    pthread_mutex_unlock(&session->lock);
}

static void cancel(kf_mcp_session *session, const cJSON *id)
{
    if (!is_id(id)) return;
    pthread_mutex_lock(&session->lock);
    for (kf_mcp_request *r = session->in_flight; r; r = r->next)
        for (size_t i = 0; i < r->count; i++)
            if (r->entries[i].id && !r->entries[i].fault &&
                cJSON_Compare(r->entries[i].id, id, true))
                atomic_store(&r->entries[i].cancelled, true);
    pthread_mutex_unlock(&session->lock);
}

static void notice(kf_mcp_session *session, const cJSON *message)
{
    const char *method = method_of(message);
    if (method && strcmp(method, "notifications/cancelled") == 0)
        cancel(session, cJSON_GetObjectItemCaseSensitive(params_of(message), "requestId"));
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void free_request(kf_mcp_request *request)
{
    if (!request) return;
    for (size_t i = 0; i < request->count; i++) cJSON_Delete(request->entries[i].fault);
    cJSON_Delete(request->tree);
    free(request);
}

static kf_mcp_request *new_request(kf_mcp_session *session, size_t count)
{
    kf_mcp_request *request = calloc(1, sizeof *request + count * sizeof *request->entries);
    if (!request) return NULL;
    request->session = session;
    request->count = count;
    return request;
}

/* Makes a request that is answered with an error without an id. */
static kf_mcp_request *refuse(kf_mcp_session *session, int code, const char *why)
{
    kf_mcp_request *request = new_request(session, 1);
    if (!request) return NULL;
    request->entries[0].fault = kf_mcp_error(NULL, code, NULL, "%s", why);
    enter(request);
    return request;
}

/* Takes one message. True if it needs an answer. */
static bool take(kf_mcp_session *session, const cJSON *message, entry *e)
{
    const char *fault = fault_of(message);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(message, "id");
    e->message = message;
    if (fault) {
        e->fault = kf_mcp_error(is_id(id) ? id : NULL, KF_MCP_INVALID_REQUEST, NULL, "%s", fault);
        return true;
    }
    /* This server asks its clients nothing, so a response is of no use. */
    if (!method_of(message)) return false;
    if (!id) notice(session, message);
    e->id = id;
    return id != NULL;
}

kf_mcp_request *kf_mcp_accept(kf_mcp_session *session, const char *text, size_t size)
{
    kf_error error = {0};
    kf_auto(cJSON) tree = kf_json_parse(text, size, KF_MCP_BYTES, "message", &error);
    if (!tree) return refuse(session, KF_MCP_PARSE_ERROR, error.text);
    pthread_mutex_lock(&session->lock);
    kf_mcp_revision revision = session->revision;
    pthread_mutex_unlock(&session->lock);
    bool batch = cJSON_IsArray(tree);
    int length = batch ? cJSON_GetArraySize(tree) : 1;
    if (batch && revision != KF_MCP_2025_03)
        return refuse(session, KF_MCP_INVALID_REQUEST,
                      "only revision 2025-03-26 has batches; send one message at a time");
    if (length < 1 || length > BATCH_MOST)
        return refuse(session, KF_MCP_INVALID_REQUEST, "a batch has 1 to 64 messages");
    kf_mcp_request *request = new_request(session, (size_t)length);
    if (!request) return NULL;
    request->batch = batch;
    size_t used = 0;
    for (const cJSON *message = batch ? tree->child : tree; message;
         message = batch ? message->next : NULL) {
        request->entries[used] = (entry){0};
        used += take(session, message, &request->entries[used]);
    }
    request->count = used;
    request->tree = kf_steal(&tree);
    if (!used) {
        free_request(request);
        return NULL;
    }
    enter(request);
    return request;
}

bool kf_mcp_is_long(const kf_mcp_request *request)
{
    for (size_t i = 0; i < request->count; i++) {
        const char *method = method_of(request->entries[i].message);
        if (!request->entries[i].fault && method && strcmp(method, "tools/call") == 0) return true;
    }
    return false;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Returns the response of an entry; NULL if the client has cancelled it or gone. */
static cJSON *answer(kf_mcp_request *request, entry *e)
{
    if (e->fault) return kf_steal(&e->fault);
    if (request->batch && strcmp(method_of(e->message), "initialize") == 0)
        return kf_mcp_error(e->id, KF_MCP_INVALID_REQUEST, NULL, "initialize is not for batches");
    cJSON *response = kf_mcp_respond(request->session, e->message, &e->cancelled);
    if (!atomic_load(&e->cancelled) && !atomic_load(&request->session->closed)) return response;
    cJSON_Delete(response);
    return NULL;
}

char *kf_mcp_run(kf_mcp_request *request)
{
    kf_auto(cJSON) list = request->batch ? cJSON_CreateArray() : NULL;
    kf_auto(cJSON) single = NULL;
    for (size_t i = 0; i < request->count; i++) {
        cJSON *response = answer(request, &request->entries[i]);
        if (list && response) cJSON_AddItemToArray(list, response);
        if (!list) single = response;
    }
    leave(request);
    free_request(request);
    if (list && !list->child) return NULL;
    const cJSON *all = list ? list : single;
    return all ? cJSON_PrintUnformatted(all) : NULL;
}

char *kf_mcp_refusal(int code, const char *why)
{
    kf_auto(cJSON) response = kf_mcp_error(NULL, code, NULL, "%s", why);
    return response ? cJSON_PrintUnformatted(response) : NULL;
}
