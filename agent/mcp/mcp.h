/* The Model Context Protocol: tools for coding agents, over any transport.
 *
 * Revisions 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25 begin with `initialize`. Revision
 * 2026-07-28 is stateless: every request has its revision in `_meta`. The first accepted request of
 * a session decides. Messages are JSON-RPC 2.0 (modelcontextprotocol.io/specification).
 *
 * A kf_mcp is the server: the tools, the served folder, the store, the jobs. A kf_mcp_session is
 * one connection. A transport passes each message to kf_mcp_accept, which applies notifications at
 * once, and runs the returned request in any thread. So `ping` and cancellation work during a long
 * call. kf_mcp_post does all of this for one HTTP request.
 *
 * Files are read only below the served folder (served_files.h). Tools never return an oracle's
 * source or a hidden workload.
 *
 * All functions may be called from several threads. Errors of tools are results with "isError".
 */
#ifndef KFORGE_MCP_H
#define KFORGE_MCP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "jobs.h"
#include "kforge/cleanup.h"
#include "kforge/error.h"

/* longest message */
#define KF_MCP_BYTES (2u << 20)
/* most requests of a session in flight */
#define KF_MCP_CALLS 16

/* JSON-RPC's codes, and those of revision 2026-07-28 */
enum {
    KF_MCP_PARSE_ERROR = -32700,
    KF_MCP_INVALID_REQUEST = -32600,
    KF_MCP_UNKNOWN_METHOD = -32601,
    KF_MCP_INVALID_PARAMS = -32602,
    KF_MCP_INTERNAL = -32603,
    KF_MCP_HEADER_MISMATCH = -32020,
    KF_MCP_UNSUPPORTED_VERSION = -32022,
};

typedef struct kf_mcp kf_mcp;
typedef struct kf_mcp_session kf_mcp_session;
typedef struct kf_mcp_request kf_mcp_request;

typedef struct kf_mcp_settings {
    /* the served folder; NULL: clients can't name files */
    const char *root;
    /* judges, and has the store; borrowed. NULL with a socket. */
    kf_service *jobs;
    /* In an agent's jail: the socket of the judge outside (episode.h). The tools are its questions
     * then. Else NULL. */
    const char *socket;
} kf_mcp_settings;

/* Copies the settings. KF_ERROR_INPUT if the root is no folder. */
kf_mcp *kf_mcp_new(const kf_mcp_settings *settings, kf_error *error);
void kf_mcp_free(kf_mcp *server);
KF_DEFINE_AUTO(kf_mcp, kf_mcp_free)

/* Takes a notification to the client: one JSON text without a newline. Any thread may call it. */
typedef void kf_mcp_send(void *context, const char *text);

/* Starts a connection. NULL without memory. */
kf_mcp_session *kf_mcp_session_new(kf_mcp *server, kf_mcp_send *send, void *context);
/* Cancels every request in flight, for a client that has gone. */
void kf_mcp_session_close(kf_mcp_session *session);
/* Frees a session. All of its requests must have been run. */
void kf_mcp_session_free(kf_mcp_session *session);
KF_DEFINE_AUTO(kf_mcp_session, kf_mcp_session_free)

/* Takes a message, or a batch where the revision has them. Returns the request that
 * kf_mcp_run answers. NULL if the message needs no answer. */
kf_mcp_request *kf_mcp_accept(kf_mcp_session *session, const char *text, size_t size);
/* True if the answer may take long, so that the transport needs a thread for it. */
bool kf_mcp_is_long(const kf_mcp_request *request);
/* Answers a request and frees it. The caller frees the text. NULL: the client has cancelled the
 * request or gone, so it gets no answer. */
char *kf_mcp_run(kf_mcp_request *request);
/* Returns an error as an answer without an id, for a message that a transport could not read. NULL
 * without memory. */
char *kf_mcp_refusal(int code, const char *why);

/* One POST of the streamable HTTP transport. Headers that are missing are NULL. */
typedef struct kf_mcp_http {
    /* MCP-Protocol-Version, Mcp-Method and Mcp-Name */
    const char *version, *method, *name;
    const char *body;
    size_t size;
    /* Becomes true when the client has closed the connection. May be NULL. */
    const atomic_bool *closed;
    kf_mcp_send *send;
    void *context;
} kf_mcp_http;
/* Answers a POST. *status is its HTTP status. The caller frees the text. NULL: no body (202 for a
 * notification). Blocks until the answer is known. `send` gets the progress before that. */
char *kf_mcp_post(kf_mcp *server, const kf_mcp_http *post, int *status);

/* Serves one client on two descriptors, one message a line, until the input ends, the output has
 * no reader, or *stop is not 0. It then cancels all requests. The caller must handle SIGPIPE. */
bool kf_mcp_serve(kf_mcp *server, int input, int output, const volatile int *stop, kf_error *error);

#endif
