/* What the files of agent/mcp share: the server, sessions, requests and the tools. */
#ifndef KFORGE_MCP_INTERNAL_H
#define KFORGE_MCP_INTERNAL_H

#include <pthread.h>

#include "kforge/store.h"
#include "kforge/task.h"
#include "mcp.h"
#include "served_files.h"

/* Questions of an agent's jail that the judge outside has not answered (tool_episode.c). */
typedef struct kf_mcp_questions kf_mcp_questions;

struct kf_mcp {
    kf_served served;
    /* Has either jobs or questions. */
    kf_service *jobs;
    kf_mcp_questions *questions;
    /* "tools" or "episode_tools" of tools.json */
    cJSON *tools;
};

/* The protocol revisions, oldest first. */
typedef enum kf_mcp_revision {
    KF_MCP_UNDECIDED = -1,
    KF_MCP_2024_11,
    KF_MCP_2025_03,
    KF_MCP_2025_06,
    KF_MCP_2025_11,
    /* the stateless one */
    KF_MCP_2026_07,
    KF_MCP_REVISIONS
} kf_mcp_revision;
/* Returns KF_MCP_UNDECIDED for an unknown name. */
kf_mcp_revision kf_mcp_revision_of(const char *name);

struct kf_mcp_session {
    kf_mcp *server;
    kf_mcp_send *send;
    void *context;
    /* guards what follows, and the requests in flight */
    pthread_mutex_t lock;
    kf_mcp_revision revision;
    kf_mcp_request *in_flight;
    int count;
    /* The client has gone. */
    atomic_bool closed;
    const atomic_bool *closed_too;
};

/* One call of a tool. */
typedef struct kf_mcp_call {
    kf_mcp *server;
    kf_mcp_session *session;
    kf_mcp_revision revision;
    const atomic_bool *cancelled;
    /* of the client's progress notifications; NULL: it wants none */
    const cJSON *progress_token;
    double progress;
    /* kf_now of the begin or of the last notification */
    double notified;
} kf_mcp_call;

/* True if the client has cancelled the call or gone. */
bool kf_mcp_is_cancelled(const kf_mcp_call *call);
/* Notifies the client of progress, if it asked for that, at most once a second. `progress` must
 * grow. */
void kf_mcp_progress(kf_mcp_call *call, double progress, double total, const char *message);

/* Answers one valid request: a message with an id and a method. Returns the whole response; NULL
 * without memory. */
cJSON *kf_mcp_respond(kf_mcp_session *session, const cJSON *message, const atomic_bool *cancelled);
/* Returns an error response. `id` NULL: null. `data` is taken over and may be NULL. */
cJSON *kf_mcp_error(const cJSON *id, int code, cJSON *data, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* True if a message claims the stateless revision: it has the revision in "_meta". */
bool kf_mcp_has_envelope(const cJSON *message);

/* Runs a tool with arguments that fit its schema. NULL with *error for a failed call; its text says
 * what to do next. The caller frees. */
typedef cJSON *kf_mcp_tool(kf_mcp_call *call, const cJSON *arguments, kf_error *error);

/* Returns the function of a tool, NULL for an unknown name. */
kf_mcp_tool *kf_mcp_find_tool(const kf_mcp *server, const char *name);
/* Checks arguments against the input schema of a tool. The error names the argument. */
bool kf_mcp_check_arguments(const cJSON *schema, const cJSON *arguments, kf_error *error);

kf_mcp_tool kf_tool_tasks, kf_tool_task, kf_tool_eval, kf_tool_result, kf_tool_profile,
    kf_tool_scan, kf_tool_history, kf_tool_best, kf_tool_diff, kf_tool_submit, kf_tool_note;

/* ---- in an agent's jail (tool_episode.c) ----------------------------------------------------- */

/* Copies the path of the socket. NULL without memory. */
kf_mcp_questions *kf_mcp_questions_new(const char *socket);
void kf_mcp_questions_free(kf_mcp_questions *questions);
kf_mcp_tool kf_tool_episode_eval, kf_tool_episode_profile, kf_tool_episode_submit,
    kf_tool_episode_history, kf_tool_episode_result;

#endif
