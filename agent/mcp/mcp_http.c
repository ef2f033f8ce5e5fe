/* The streamable HTTP transport, without HTTP itself: the headers of one POST against its body, and
 * the status of the answer. A request is a session of its own. Cancellation is the end of the
 * connection, because a stranger could guess the id of another client's request. */
#include <string.h>

#include <openssl/evp.h>

#include "kforge/json.h"
#include "mcp_internal.h"

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* True if a header equals a value of the body. A value that a header can't hold is sent as
 * "=?base64?…?=". */
static bool matches(const char *header, const char *value)
{
    static const char prefix[] = "=?base64?", suffix[] = "?=";
    size_t length = header ? strlen(header) : 0, frame = sizeof prefix + sizeof suffix - 2;
    if (!header || !value) return header == value;
    if (length < frame || strncmp(header, prefix, sizeof prefix - 1) != 0 ||
        strcmp(header + length - 2, suffix) != 0)
        return strcmp(header, value) == 0;
    size_t size = strlen(value);
    kf_autofree unsigned char *coded = malloc(4 * ((size + 2) / 3) + 1);
    if (!coded) return false;
    int count = EVP_EncodeBlock(coded, (const unsigned char *)value, (int)size);
    return (size_t)count == length - frame &&
           memcmp(coded, header + sizeof prefix - 1, (size_t)count) == 0;
}

/* Returns the error response for headers that contradict a request of the stateless revision. */
static cJSON *check_headers(const kf_mcp_http *post, const cJSON *message)
{
    const cJSON *id = get(message, "id"), *params = get(message, "params");
    const char *version = cJSON_GetStringValue(
                   get(get(params, "_meta"), "io.modelcontextprotocol/protocolVersion")),
               *method = cJSON_GetStringValue(get(message, "method"));
    const char *name = method && strcmp(method, "tools/call") == 0
                           ? cJSON_GetStringValue(get(params, "name"))
                           : NULL;
    const char *wrong = !post->version || !matches(post->version, version) ? "MCP-Protocol-Version"
                        : !post->method || !matches(post->method, method)  ? "Mcp-Method"
                        : name && !matches(post->name, name)               ? "Mcp-Name"
                                                                           : NULL;
    return wrong ? kf_mcp_error(id, KF_MCP_HEADER_MISMATCH, NULL,
                                "the header %s is missing or differs from the body", wrong)
                 : NULL;
}

/* Returns the status of an answer. Before the stateless revision an error about a request is an
 * answer like any other. */
static int status_of(const char *answer, kf_mcp_revision revision)
{
    kf_auto(cJSON) json = cJSON_Parse(answer);
    const cJSON *code = get(get(json, "error"), "code");
    if (!code || code->valueint == KF_MCP_INTERNAL) return 200;
    if (revision != KF_MCP_2026_07) return cJSON_IsNull(get(json, "id")) ? 400 : 200;
    return code->valueint == KF_MCP_UNKNOWN_METHOD ? 404 : 400;
}

/* Decides about the revision. False with an error response. */
static bool choose(kf_mcp_session *session, const kf_mcp_http *post, const cJSON *message,
                   cJSON **fault)
{
    const cJSON *id = get(message, "id");
    const char *method = cJSON_GetStringValue(get(message, "method"));
    kf_mcp_revision revision = kf_mcp_revision_of(post->version);
    bool initializes = method && strcmp(method, "initialize") == 0;
    bool stateless = revision == KF_MCP_2026_07 || kf_mcp_has_envelope(message);
    *fault = NULL;
    if (initializes) return true;
    if (stateless) {
        session->revision = KF_MCP_2026_07;
        if (id) *fault = check_headers(post, message);
    } else if (!post->version) {
        /* What the specification says of a client without this header. */
        session->revision = KF_MCP_2025_03;
    } else if (revision == KF_MCP_UNDECIDED) {
        *fault = kf_mcp_error(id, KF_MCP_INVALID_REQUEST, NULL,
                              "%.64s: this server does not know this MCP-Protocol-Version",
                              post->version);
    } else {
        session->revision = revision;
    }
    return !*fault;
}

char *kf_mcp_post(kf_mcp *server, const kf_mcp_http *post, int *status)
{
    *status = 500;
    kf_auto(kf_mcp_session) session = kf_mcp_session_new(server, post->send, post->context);
    if (!session) return NULL;
    session->closed_too = post->closed;
    kf_auto(cJSON) message = kf_json_parse(post->body, post->size, KF_MCP_BYTES, "body", NULL);
    kf_auto(cJSON) fault = NULL;
    if (message && !choose(session, post, message, &fault)) {
        *status = 400;
        return cJSON_PrintUnformatted(fault);
    }
    kf_mcp_request *request = kf_mcp_accept(session, post->body, post->size);
    *status = 202;
    if (!request) return NULL;
    char *answer = kf_mcp_run(request);
    *status = answer ? status_of(answer, session->revision) : 500;
    return answer;
}
