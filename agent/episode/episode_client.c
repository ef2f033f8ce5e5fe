/* `kforge` in an agent's jail: a client of the judge outside. It is a convenience. The server
 * checks everything again, since the agent may as well write to the socket itself. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "episode_internal.h"
#include "kforge/file.h"

#define ANSWER_BYTES (1u << 20)
#define CANDIDATE "candidate.cu"

static const char usage[] =
    "In this folder, kforge is a client of the judge:\n"
    "  kforge eval [FILE] [--brief]   judge FILE (candidate.cu): correct, and how fast\n"
    "  kforge check [FILE] [--brief]  correct or not, without times\n"
    "  kforge profile [FILE]          as eval, with hardware counters where the device has some\n"
    "  kforge submit [FILE]           copy FILE to candidate.cu and measure it for longer\n"
    "  kforge history                 the verdicts of this episode\n"
    "  kforge mcp                     the same as tools of the Model Context Protocol "
    "($KFORGE_MCP)\n"
    "candidate.cu as it is at the end is the result.\n";

typedef struct request {
    const char *action, *file;
    bool brief;
} request;

static bool read_arguments(const char *const *arguments, size_t count, request *r, kf_error *error)
{
    static const char *const known[] = {"eval", "check", "profile", "submit", "history", "help"};
    *r = (request){.action = count ? arguments[0] : "help", .file = CANDIDATE};
    bool is_known = false, has_file = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        is_known |= strcmp(r->action, known[i]) == 0;
    if (strcmp(r->action, "--help") == 0 || strcmp(r->action, "-h") == 0)
        r->action = "help";
    else if (!is_known)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: an agent's jail has no such command; `kforge help` lists them",
                       r->action);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--brief") == 0) {
            r->brief = true;
        } else if (strcmp(arguments[i], "--help") == 0) {
            r->action = "help";
        } else if (arguments[i][0] == '-' || has_file) {
            return kf_fail(error, KF_ERROR_INPUT,
                           "%s: expected one file and --brief; `kforge help` lists the commands",
                           arguments[i]);
        } else {
            r->file = arguments[i];
            has_file = true;
        }
    }
    return true;
}

/* Reads the source of a question. NULL without *error: the question has no source. */
static char *source_of(const request *r, kf_error *error)
{
    size_t size;
    if (strcmp(r->action, "history") == 0) return NULL;
    kf_autofree char *source = kf_file_read(r->file, KF_EPISODE_SOURCE_BYTES, &size, error);
    if (source && strcmp(r->action, "submit") == 0 && strcmp(r->file, CANDIDATE) != 0 &&
        !kf_file_write(CANDIDATE, source, size, error))
        return NULL;
    return kf_steal(&source);
}

/* Returns the line to send, malloc'd. */
static char *line_of(const char *action, const char *source, kf_error *error)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "do", action);
    if (source) cJSON_AddStringToObject(json, "source", source);
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    char *line = NULL;
    if (!text || asprintf(&line, "%s\n", text) < 0) return kf_fail_memory(error, "a request"), NULL;
    return line;
}

int kf_episode_send(const char *socket_path, const char *action, const char *source,
                    kf_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(socket_path) >= sizeof address.sun_path)
        return kf_fail(error, KF_ERROR_INPUT, "%s: too long for a socket", socket_path) - 1;
    memcpy(address.sun_path, socket_path, strlen(socket_path));
    kf_autofree char *line = line_of(action, source, error);
    if (!line) return -1;
    kf_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return kf_fail(error, KF_ERROR_MACHINE, "%s: %s; the judge outside does not answer",
                       socket_path, strerror(errno)) -
               1;
    for (size_t sent = 0, all = strlen(line); sent < all;) {
        ssize_t done = send(fd, line + sent, all - sent, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) break; /* the answer is missing, then */
        sent += (size_t)done;
    }
    int connection = fd;
    fd = -1;
    return connection;
}

cJSON *kf_episode_receive(int connection, kf_buffer *answer, double seconds, kf_error *error)
{
    char data[65536];
    double until = kf_now() + seconds;
    answer->limit = ANSWER_BYTES;
    while (!answer->size || !memchr(answer->data, '\n', answer->size)) {
        double left = until - kf_now();
        struct pollfd waits = {.fd = connection, .events = POLLIN};
        int ready = poll(&waits, 1, left > 0 ? (int)fmin(left * 1e3 + 1, 1e9) : 0);
        if (ready == 0 && left <= 0) return NULL;
        if (ready <= 0) continue;
        ssize_t got = recv(connection, data, sizeof data, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got > 0) kf_buffer_append(answer, data, (size_t)got);
        if (got <= 0 || answer->failed)
            return kf_fail(error, KF_ERROR_MACHINE, "the judge outside gave no answer"), NULL;
    }
    return kf_json_parse(answer->data, answer->size, ANSWER_BYTES, "the judge's answer", error);
}

static int show(const request *r, const cJSON *json, void (*print)(void *context, const char *text),
                void *context, kf_error *error)
{
    const cJSON *why = cJSON_GetObjectItemCaseSensitive(json, "error"),
                *result = cJSON_GetObjectItemCaseSensitive(json, "result");
    kf_autobuffer out = {0};
    if (cJSON_IsString(why) || !result)
        return kf_fail(error, KF_ERROR_INPUT, "%s", why ? why->valuestring : "no result") - 1;
    const cJSON *text = cJSON_DetachItemFromObjectCaseSensitive((cJSON *)(uintptr_t)result, "text");
    bool correct = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(result, "ok"));
    kf_autofree char *brief = cJSON_PrintUnformatted(result);
    if (r->brief || !cJSON_IsString(text))
        kf_buffer_format(&out, "%s\n", brief ? brief : "");
    else
        kf_buffer_format(&out, "%s", text->valuestring);
    if (!r->brief)
        kf_buffer_format(&out, "%g judgements and %g s are left\n",
                         kf_json_get_number(json, "evals_left", 0),
                         kf_json_get_number(json, "seconds_left", 0));
    cJSON_Delete((cJSON *)(uintptr_t)text);
    if (out.data) print(context, out.data);
    return correct || cJSON_IsArray(result) ? 0 : 1;
}

int kf_episode_client(const char *socket_path, const char *const *arguments, size_t count,
                      void (*print)(void *context, const char *text), void *context,
                      kf_error *error)
{
    request r;
    kf_error reason = {0};
    kf_autobuffer answer = {0};
    if (!read_arguments(arguments, count, &r, error)) return -1;
    if (strcmp(r.action, "help") == 0) return print(context, usage), 0;
    kf_autofree char *source = source_of(&r, &reason);
    if (reason.text[0]) return kf_fail_copy(error, &reason) - 1;
    kf_autoclose int connection = kf_episode_send(socket_path, r.action, source, error);
    kf_auto(cJSON) json =
        connection < 0 ? NULL : kf_episode_receive(connection, &answer, INFINITY, error);
    return json ? show(&r, json, print, context, error) : -1;
}
