/* The judge's side of the socket (README.md has the protocol). The peer is hostile: lines and
 * connections are limited, each call reads and writes a bounded amount, and nothing waits. If all
 * places are taken, a new connection takes that of the one that was silent longest. A connection
 * with a question in work keeps its place. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "episode_internal.h"
#include "kforge/file.h"

/* connections and lines of an episode; more are a flood */
#define MAX_REQUESTS 20000
/* connections taken, and bytes read of a connection, in one step */
#define ACCEPTED 16
#define READ_BYTES 65536
#define BACKLOG 128
/* latest answers that `history` repeats */
#define MAX_HISTORY 200
/* for the turns of an episode */
#define CANCELLED "cancelled by the agent"

static const char *const wishes[KF_EPISODE_WISHES] = {"eval", "check", "profile", "submit"};

bool kf_episode_server_open(kf_episode_server *server, const char *path, kf_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    for (size_t i = 0; i < KF_EPISODE_CONNECTIONS; i++) server->connections[i].fd = -1;
    server->listener = -1;
    server->history = cJSON_CreateArray();
    server->turns = cJSON_CreateArray();
    if (!server->history || !server->turns) return kf_fail_memory(error, "an episode");
    if (strlen(path) >= sizeof address.sun_path)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: too long for a socket; set TMPDIR to a shorter path", path);
    memcpy(address.sun_path, path, strlen(path));
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listener >= 0 &&
        bind(server->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(server->listener, BACKLOG) == 0)
        return true;
    return kf_fail(error, KF_ERROR_MACHINE, "%s: %s", path, strerror(errno));
}

static void drop(kf_episode_connection *c)
{
    if (c->fd >= 0) close(c->fd);
    kf_buffer_free(&c->in);
    kf_buffer_free(&c->out);
    *c = (kf_episode_connection){.fd = -1};
}

void kf_episode_server_close(kf_episode_server *server)
{
    if (server->listener >= 0) close(server->listener);
    server->listener = -1;
    for (size_t i = 0; i < KF_EPISODE_CONNECTIONS; i++) drop(&server->connections[i]);
    for (size_t i = 0; i < server->waiting_count; i++) free(server->waiting[i].source);
    server->waiting_count = 0;
    cJSON_Delete(server->history);
    cJSON_Delete(server->turns);
    server->history = server->turns = NULL;
}

/* ---- the agent's time ------------------------------------------------------------------------ */

/* Returns the part of the time since `open_since` that was no judging. Several devices may judge at
 * once. */
static double waited(const kf_episode_server *server, double now)
{
    return server->open_since ? fmax(0, now - server->open_since - server->judged_seconds) : 0;
}

double kf_episode_server_left(const kf_episode_server *server, double now)
{
    return server->deadline + waited(server, now) - now;
}

/* Notes the first question without an answer, or that the last one got it. */
static void note_questions(kf_episode_server *server)
{
    double now = kf_now();
    bool open = server->withdrawn_open > 0;
    for (size_t i = 0; i < KF_EPISODE_CONNECTIONS; i++)
        open |= server->connections[i].fd >= 0 && server->connections[i].question;
    if (open && !server->open_since) server->open_since = now;
    if (open || !server->open_since) return;
    server->account.waited_seconds += waited(server, now);
    server->deadline += waited(server, now);
    server->open_since = server->judged_seconds = 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Queues one line. Takes `json` over. */
static void reply(const kf_episode_server *server, kf_episode_connection *c, cJSON *json)
{
    int left = server->settings->evals - server->account.evals;
    cJSON_AddNumberToObject(json, "evals_left", left > 0 ? left : 0);
    cJSON_AddNumberToObject(json, "seconds_left",
                            floor(fmax(0, kf_episode_server_left(server, kf_now()))));
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    if (text) kf_buffer_format(&c->out, "%s\n", text);
    if (!text || c->out.failed) drop(c);
}

static void refuse(const kf_episode_server *server, kf_episode_connection *c, const char *why)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddBoolToObject(json, "ok", false);
    cJSON_AddStringToObject(json, "error", why);
    reply(server, c, json);
}

static kf_episode_connection *find(kf_episode_server *server, int64_t question)
{
    for (size_t i = 0; i < KF_EPISODE_CONNECTIONS; i++)
        if (server->connections[i].fd >= 0 && server->connections[i].question == question)
            return &server->connections[i];
    return NULL;
}

static void remember(kf_episode_server *server, int64_t id, const cJSON *result)
{
    static const char *const keys[] = {"do", "status", "speedup", "candidate"};
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddNumberToObject(entry, "n", (double)id);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(result, keys[i]);
        if (item) cJSON_AddItemToObject(entry, keys[i], cJSON_Duplicate(item, true));
    }
    cJSON_AddItemToArray(server->history, entry);
    if (cJSON_GetArraySize(server->history) > MAX_HISTORY)
        cJSON_DeleteItemFromArray(server->history, 0);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Counts bytes of the turns, and forgets the oldest ones above the limit. */
static void count_turn(kf_episode_server *server, const char *text)
{
    server->turns_bytes += strlen(text);
    while (server->turns_bytes > KF_EPISODE_TURNS_BYTES && cJSON_GetArraySize(server->turns) > 1) {
        cJSON *oldest = cJSON_DetachItemFromArray(server->turns, 0);
        const char *source = cJSON_GetStringValue(cJSON_GetObjectItem(oldest, "source")),
                   *feedback = cJSON_GetStringValue(cJSON_GetObjectItem(oldest, "feedback"));
        server->turns_bytes -= (source ? strlen(source) : 0) + (feedback ? strlen(feedback) : 0);
        cJSON_Delete(oldest);
    }
}

static void begin_turn(kf_episode_server *server, int64_t id, kf_episode_wish wish,
                       const char *source)
{
    cJSON *turn = cJSON_CreateObject();
    cJSON_AddNumberToObject(turn, "id", (double)id);
    cJSON_AddStringToObject(turn, "do", wishes[wish]);
    cJSON_AddStringToObject(turn, "source", source);
    cJSON_AddItemToArray(server->turns, turn);
    count_turn(server, source);
}

/* Notes the answer as the agent sees it. `result` NULL: the judge gave none, for this reason. */
static void end_turn(kf_episode_server *server, int64_t id, const cJSON *result, const char *reason)
{
    static const char *const keys[] = {"status", "candidate"};
    cJSON *turn;
    cJSON_ArrayForEach(turn,
                       server->turns) if (kf_json_get_number(turn, "id", 0) == (double)id) break;
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(result, "text");
    const char *feedback = cJSON_IsString(text) ? text->valuestring : reason ? reason : "";
    /* A call that was withdrawn as its verdict came has ended already. */
    if (!turn || cJSON_GetObjectItemCaseSensitive(turn, "feedback")) return;
    cJSON_AddStringToObject(turn, "feedback", feedback);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(result, keys[i]);
        if (item) cJSON_AddItemToObject(turn, keys[i], cJSON_Duplicate(item, true));
    }
    count_turn(server, feedback);
}

void kf_episode_server_answer(kf_episode_server *server, int64_t id, const char *json,
                              double device_seconds, double judging_seconds, const char *reason)
{
    kf_episode_connection *c = find(server, id);
    if (device_seconds > 0) server->account.device_seconds += device_seconds;
    cJSON *result = json ? cJSON_Parse(json) : NULL;
    if (result) remember(server, id, result);
    end_turn(server, id, result, reason);
    if (judging_seconds > 0 && server->open_since) server->judged_seconds += judging_seconds;
    if (c)
        c->question = 0;
    else if (server->withdrawn_open)
        server->withdrawn_open--;
    note_questions(server);
    if (!c) {
        cJSON_Delete(result);
        return;
    }
    c->active = kf_now();
    if (!result) {
        refuse(server, c, reason ? reason : "the judge gave no answer");
        return;
    }
    cJSON *line = cJSON_CreateObject();
    cJSON_AddBoolToObject(line, "ok", true);
    cJSON_AddItemToObject(line, "result", result);
    reply(server, c, line);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Says in account->overspent which limit leaves no room for another question. */
static bool may_ask(kf_episode_server *server)
{
    const kf_episode_settings *limit = server->settings;
    kf_episode_account *spent = &server->account;
    if (spent->evals >= limit->evals)
        snprintf(spent->overspent, sizeof spent->overspent, "all %d judgements are used",
                 limit->evals);
    else if (limit->device_seconds > 0 && spent->device_seconds >= limit->device_seconds)
        snprintf(spent->overspent, sizeof spent->overspent, "the %g s of the device are used",
                 limit->device_seconds);
    return !*spent->overspent;
}

bool kf_episode_server_next(kf_episode_server *server, kf_episode_question *question)
{
    if (server->withdrawn_count) {
        *question = (kf_episode_question){.id = server->withdrawn[--server->withdrawn_count]};
        return true;
    }
    if (!server->waiting_count) return false;
    *question = server->waiting[0];
    memmove(server->waiting, server->waiting + 1,
            --server->waiting_count * sizeof *server->waiting);
    return true;
}

/* Forgets a question that was not taken yet. False if it was. */
static bool forget_waiting(kf_episode_server *server, int64_t id)
{
    for (size_t i = 0; i < server->waiting_count; i++) {
        if (server->waiting[i].id != id) continue;
        free(server->waiting[i].source);
        memmove(server->waiting + i, server->waiting + i + 1,
                (--server->waiting_count - i) * sizeof *server->waiting);
        end_turn(server, id, NULL, CANCELLED);
        return true;
    }
    return false;
}

/* Looks if the client of a question in work has left, for example because its call was cancelled.
 * A client that only ends what it sends still waits for its answer. The judgement stays counted. */
static void look_for_end(kf_episode_server *server, kf_episode_connection *c)
{
    struct pollfd fd = {.fd = c->fd};
    if (poll(&fd, 1, 0) != 1 || !(fd.revents & (POLLHUP | POLLERR))) return;
    if (!forget_waiting(server, c->question)) {
        if (server->withdrawn_count == KF_EPISODE_CONNECTIONS) return; /* in a later step */
        server->withdrawn[server->withdrawn_count++] = c->question;
        server->withdrawn_open++;
    }
    drop(c);
    note_questions(server);
}

static void ask(kf_episode_server *server, kf_episode_connection *c, kf_episode_wish wish,
                const char *source)
{
    size_t size = strlen(source);
    if (size > KF_EPISODE_SOURCE_BYTES) {
        refuse(server, c, "the source has more than 262144 bytes");
        return;
    }
    if (!may_ask(server)) {
        kf_autobuffer why = {0};
        kf_buffer_format(&why, "%s; the episode ends now, and candidate.cu is its result",
                         server->account.overspent);
        refuse(server, c, why.data ? why.data : "");
        return;
    }
    char *copy = server->waiting_count < KF_EPISODE_CONNECTIONS ? strdup(source) : NULL;
    if (!copy) {
        refuse(server, c, "out of memory for a question");
        return;
    }
    server->account.evals++;
    c->question = ++server->last_question;
    note_questions(server);
    begin_turn(server, c->question, wish, source);
    server->waiting[server->waiting_count++] =
        (kf_episode_question){.id = c->question, .wish = wish, .source = copy, .size = size};
}

static void send_history(const kf_episode_server *server, kf_episode_connection *c)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddBoolToObject(line, "ok", true);
    cJSON_AddItemToObject(line, "result", cJSON_Duplicate(server->history, true));
    reply(server, c, line);
}

static void take_line(kf_episode_server *server, kf_episode_connection *c, const char *text,
                      size_t size)
{
    kf_error why = {0};
    server->account.requests++;
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_EPISODE_LINE_BYTES, "request", &why);
    if (!json) {
        c->ends = true;
        refuse(server, c, why.text);
        return;
    }
    kf_json_reader reader = kf_json_object(json, "request", "", &why);
    const char *action = kf_json_string(&reader, "do");
    const char *source = kf_json_string_or(&reader, "source", NULL);
    if (!kf_json_finish(&reader)) {
        c->ends = true;
        refuse(server, c, why.text);
        return;
    }
    if (strcmp(action, "history") == 0) {
        send_history(server, c);
        return;
    }
    for (int i = 0; i < KF_EPISODE_WISHES; i++) {
        if (strcmp(action, wishes[i]) != 0) continue;
        if (source)
            ask(server, c, (kf_episode_wish)i, source);
        else
            refuse(server, c, "request: source: missing; give the text of the candidate");
        return;
    }
    refuse(server, c, "request: do: expected eval, check, profile, submit or history");
}

/* ---- connections ----------------------------------------------------------------------------- */

/* Returns a free place, or that of the connection that was silent longest. NULL: all have a
 * question in work. */
static kf_episode_connection *find_place(kf_episode_server *server)
{
    kf_episode_connection *oldest = NULL;
    for (size_t i = 0; i < KF_EPISODE_CONNECTIONS; i++) {
        kf_episode_connection *c = &server->connections[i];
        if (c->fd < 0) return c;
        if (!c->question && (!oldest || c->active < oldest->active)) oldest = c;
    }
    return oldest;
}

static void accept_some(kf_episode_server *server)
{
    for (int i = 0; i < ACCEPTED; i++) {
        kf_episode_connection *place = find_place(server);
        if (!place) return;
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        server->account.requests++;
        drop(place);
        *place = (kf_episode_connection){
            .fd = fd, .active = kf_now(), .in = {.limit = KF_EPISODE_LINE_BYTES}};
    }
}

static void write_some(kf_episode_connection *c)
{
    while (c->fd >= 0 && c->written < c->out.size) {
        ssize_t size = send(c->fd, c->out.data + c->written, c->out.size - c->written,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) {
            drop(c);
            return;
        }
        c->written += (size_t)size;
    }
    if (c->fd < 0) return;
    kf_buffer_clear(&c->out);
    c->written = 0;
    if (c->ends) drop(c);
}

/* Takes the first line that has arrived, if the connection has no question in work. */
static bool take_first_line(kf_episode_server *server, kf_episode_connection *c)
{
    if (c->question || c->out.size || c->in.size <= c->looked) return false;
    char *end = memchr(c->in.data + c->looked, '\n', c->in.size - c->looked);
    c->looked = end ? 0 : c->in.size;
    if (!end) return false;
    size_t size = (size_t)(end - c->in.data);
    kf_autofree char *line = strndup(c->in.data, size);
    memmove(c->in.data, end + 1, c->in.size - size - 1);
    c->in.size -= size + 1;
    if (line) take_line(server, c, line, strlen(line));
    return c->fd >= 0;
}

static void read_some(kf_episode_server *server, kf_episode_connection *c)
{
    char data[READ_BYTES];
    if (c->question || c->out.size) return;
    ssize_t size = recv(c->fd, data, sizeof data, MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) {
        drop(c);
        return;
    }
    c->active = kf_now();
    kf_buffer_append(&c->in, data, (size_t)size);
    if (c->in.failed) {
        server->account.requests++;
        c->ends = true;
        kf_buffer_clear(&c->in);
        c->looked = 0;
        refuse(server, c, "request: the line is too long");
    }
}

void kf_episode_server_step(kf_episode_server *server)
{
    accept_some(server);
    for (size_t i = 0; i < KF_EPISODE_CONNECTIONS; i++) {
        kf_episode_connection *c = &server->connections[i];
        if (c->fd < 0) continue;
        if (c->question) look_for_end(server, c);
        if (c->fd >= 0) read_some(server, c);
        if (c->fd >= 0) take_first_line(server, c);
        if (c->fd >= 0 && c->out.size) write_some(c);
    }
    if (server->account.requests > MAX_REQUESTS)
        snprintf(server->account.overspent, sizeof server->account.overspent,
                 "more than %d requests", MAX_REQUESTS);
}

size_t kf_episode_server_watch(const kf_episode_server *server, struct pollfd *fds, size_t most)
{
    size_t count = 0;
    bool place = false;
    for (size_t i = 0; i < KF_EPISODE_CONNECTIONS && count < most; i++) {
        const kf_episode_connection *c = &server->connections[i];
        place |= c->fd < 0 || !c->question;
        if (c->fd < 0) continue;
        /* poll() reports the end of a client in any case. */
        short events = c->question ? 0 : c->out.size ? POLLOUT : POLLIN;
        fds[count++] = (struct pollfd){.fd = c->fd, .events = events};
    }
    if (place && count < most && server->listener >= 0)
        fds[count++] = (struct pollfd){.fd = server->listener, .events = POLLIN};
    return count;
}
