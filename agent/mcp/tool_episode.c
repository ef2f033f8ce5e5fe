/* The tools of `kforge mcp` in an agent's jail: questions to the judge outside, over the socket of
 * the episode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "episode.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "mcp_tools.h"

#define CANDIDATE "candidate.cu"
/* between two looks at cancellation */
#define LOOK_SECONDS 0.25

typedef struct question {
    /* "q1" is 1; 0: the place is free */
    int id;
    int connection;
    /* A call waits for it. */
    bool busy;
    kf_buffer answer;
} question;

struct kf_mcp_questions {
    char *socket;
    /* guards the list; the call that made a question busy owns the rest of it */
    pthread_mutex_t lock;
    int last;
    /* The server closes further connections. */
    question list[KF_EPISODE_CONNECTIONS];
};

kf_mcp_questions *kf_mcp_questions_new(const char *socket)
{
    kf_mcp_questions *questions = calloc(1, sizeof *questions);
    char *copy = strdup(socket);
    if (!questions || !copy) {
        free(questions);
        free(copy);
        return NULL;
    }
    questions->socket = copy;
    pthread_mutex_init(&questions->lock, NULL);
    return questions;
}

static void forget(kf_mcp_questions *questions, question *q)
{
    pthread_mutex_lock(&questions->lock);
    if (q->connection >= 0) close(q->connection);
    kf_buffer_free(&q->answer);
    *q = (question){0};
    pthread_mutex_unlock(&questions->lock);
}

void kf_mcp_questions_free(kf_mcp_questions *questions)
{
    if (!questions) return;
    for (int i = 0; i < KF_EPISODE_CONNECTIONS; i++)
        if (questions->list[i].id) forget(questions, &questions->list[i]);
    pthread_mutex_destroy(&questions->lock);
    free(questions->socket);
    free(questions);
}

/* Takes a free place, which becomes busy. */
static question *begin(kf_mcp_questions *questions, kf_error *error)
{
    question *found = NULL;
    pthread_mutex_lock(&questions->lock);
    for (int i = 0; i < KF_EPISODE_CONNECTIONS && !found; i++)
        if (!questions->list[i].id) found = &questions->list[i];
    if (found) *found = (question){.id = ++questions->last, .connection = -1, .busy = true};
    pthread_mutex_unlock(&questions->lock);
    if (!found)
        kf_fail(error, KF_ERROR_LIMIT,
                "%d jobs are without an answer; take one with kforge_result first",
                KF_EPISODE_CONNECTIONS);
    return found;
}

/* Finds a job that no other call waits for, and makes it busy. */
static question *find(kf_mcp_questions *questions, const char *job, kf_error *error)
{
    question *found = NULL;
    bool busy = false;
    pthread_mutex_lock(&questions->lock);
    for (int i = 0; i < KF_EPISODE_CONNECTIONS && !found; i++) {
        char name[16];
        snprintf(name, sizeof name, "q%d", questions->list[i].id);
        if (questions->list[i].id && strcmp(name, job) == 0) found = &questions->list[i];
    }
    if (found) {
        busy = found->busy;
        found->busy = true;
    }
    pthread_mutex_unlock(&questions->lock);
    if (found && !busy) return found;
    kf_fail(error, KF_ERROR_INPUT, "%.40s: %s", job,
            found ? "another call waits for this job" : "no such job; call kforge_eval again");
    return NULL;
}

/* Makes the tool's content of the server's answer, out of which it takes parts. */
static cJSON *content_of(cJSON *answer, kf_error *error)
{
    const char *why = kf_json_get_text(answer, "error", NULL);
    cJSON *result = cJSON_DetachItemFromObjectCaseSensitive(answer, "result");
    if (why || !result) {
        cJSON_Delete(result);
        kf_fail(error, KF_ERROR_INPUT, "%s", why ? why : "the judge outside gave no result");
        return NULL;
    }
    if (cJSON_IsArray(result)) {
        cJSON *list = result;
        result = cJSON_CreateObject();
        cJSON_AddItemToObject(result, "history", list);
    }
    cJSON_DeleteItemFromObjectCaseSensitive(result, "text");
    static const char *const left[] = {"evals_left", "seconds_left"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        cJSON_AddItemToObject(result, left[i],
                              cJSON_DetachItemFromObjectCaseSensitive(answer, left[i]));
    return result;
}

static cJSON *still_running(kf_mcp_questions *questions, question *q)
{
    char name[16];
    snprintf(name, sizeof name, "q%d", q->id);
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "job", name);
    cJSON_AddStringToObject(answer, "state", "running");
    cJSON_AddStringToObject(answer, "next", "call kforge_result with this job");
    pthread_mutex_lock(&questions->lock);
    q->busy = false;
    pthread_mutex_unlock(&questions->lock);
    return answer;
}

/* Waits for the answer to a busy question. Then forgets it, or gives it back as a job. */
static cJSON *await(kf_mcp_call *call, question *q, double seconds, kf_error *error)
{
    kf_mcp_questions *questions = call->server->questions;
    double begun = kf_now();
    kf_error failure = {0};
    for (;;) {
        double waited = kf_now() - begun, left = seconds - waited;
        double next = left < LOOK_SECONDS ? left : LOOK_SECONDS;
        kf_auto(cJSON) answer =
            kf_episode_receive(q->connection, &q->answer, next > 0 ? next : 0, &failure);
        bool cancelled = kf_mcp_is_cancelled(call);
        if (!answer && !failure.text[0] && !cancelled) {
            if (left <= 0) return still_running(questions, q);
            kf_mcp_progress(call, waited, seconds, "judging");
            continue;
        }
        forget(questions, q);
        if (answer) return content_of(answer, error);
        if (cancelled)
            kf_fail(error, KF_ERROR_LIMIT, "the call was cancelled");
        else
            kf_fail_copy(error, &failure);
        return NULL;
    }
}

static cJSON *ask(kf_mcp_call *call, const cJSON *arguments, const char *action, const char *source,
                  kf_error *error)
{
    kf_mcp_questions *questions = call->server->questions;
    question *q = begin(questions, error);
    if (!q) return NULL;
    q->connection = kf_episode_send(questions->socket, action, source, error);
    if (q->connection < 0) {
        forget(questions, q);
        return NULL;
    }
    return await(call, q, kf_json_get_number(arguments, "wait_s", KF_MCP_WAIT), error);
}

/* Reads the file of the arguments; the caller frees. */
static char *read_file(const kf_mcp_call *call, const cJSON *arguments, size_t *size,
                       kf_error *error)
{
    return kf_served_read(&call->server->served, kf_json_get_text(arguments, "file", CANDIDATE),
                          size, error);
}

cJSON *kf_tool_episode_eval(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    size_t size;
    kf_autofree char *source = read_file(call, arguments, &size, error);
    bool checks = strcmp(kf_json_get_text(arguments, "mode", "time"), "check") == 0;
    return source ? ask(call, arguments, checks ? "check" : "eval", source, error) : NULL;
}

cJSON *kf_tool_episode_profile(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    size_t size;
    kf_autofree char *source = read_file(call, arguments, &size, error);
    return source ? ask(call, arguments, "profile", source, error) : NULL;
}

cJSON *kf_tool_episode_submit(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    size_t size;
    kf_autofree char *source = read_file(call, arguments, &size, error);
    kf_autofree char *candidate = kf_path_join(call->server->served.path, CANDIDATE);
    if (!source || !candidate || !kf_file_write(candidate, source, size, error)) return NULL;
    return ask(call, arguments, "submit", source, error);
}

cJSON *kf_tool_episode_history(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    return ask(call, arguments, "history", NULL, error);
}

cJSON *kf_tool_episode_result(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    question *q = find(call->server->questions, kf_json_get_text(arguments, "job", ""), error);
    return q ? await(call, q, kf_json_get_number(arguments, "wait_s", KF_MCP_WAIT), error) : NULL;
}
