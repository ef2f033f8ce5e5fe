/* The stdio transport: one message a line. Calls of tools run in threads of their own, all other
 * requests in the thread that reads. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "mcp_internal.h"

/* between two looks at *stop and at the output */
#define POLL_MILLISECONDS 200

typedef struct connection {
    kf_mcp_session *session;
    int output;
    /* The output has no reader. */
    atomic_bool broken;
    pthread_mutex_t writing;
    /* guards `running` */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int running;
} connection;

typedef struct job {
    connection *connection;
    kf_mcp_request *request;
} job;

static void write_line(void *context, const char *text)
{
    connection *c = context;
    pthread_mutex_lock(&c->writing);
    bool written = !atomic_load(&c->broken) && kf_write_all(c->output, text, strlen(text)) &&
                   kf_write_all(c->output, "\n", 1);
    if (!written) atomic_store(&c->broken, true);
    pthread_mutex_unlock(&c->writing);
}

static void answer(connection *c, kf_mcp_request *request)
{
    kf_autofree char *text = kf_mcp_run(request);
    if (text) write_line(c, text);
}

static void *run_job(void *argument)
{
    kf_autofree job *j = argument;
    connection *c = j->connection;
    answer(c, j->request);
    pthread_mutex_lock(&c->lock);
    c->running--;
    pthread_cond_broadcast(&c->ended);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Runs a request in a new thread, in this one if there is no more. */
static void start(connection *c, kf_mcp_request *request)
{
    job *j = malloc(sizeof *j);
    pthread_t thread;
    if (j) *j = (job){c, request};
    pthread_mutex_lock(&c->lock);
    c->running++;
    pthread_mutex_unlock(&c->lock);
    if (j && pthread_create(&thread, NULL, run_job, j) == 0) {
        pthread_detach(thread);
        return;
    }
    free(j);
    answer(c, request);
    pthread_mutex_lock(&c->lock);
    c->running--;
    pthread_mutex_unlock(&c->lock);
}

static void take_line(connection *c, const char *line, size_t size)
{
    if (size && line[size - 1] == '\r') size--;
    if (strspn(line, " \t") >= size) return;
    kf_mcp_request *request = kf_mcp_accept(c->session, line, size);
    if (!request) return;
    if (kf_mcp_is_long(request))
        start(c, request);
    else
        answer(c, request);
}

static void refuse_line(connection *c)
{
    kf_autofree char *text =
        kf_mcp_refusal(KF_MCP_INVALID_REQUEST, "the line is longer than 2 MiB; send less");
    if (text) write_line(c, text);
}

/* Takes all whole lines from the buffer, and leaves the rest. The first `looked` bytes have no end
 * of a line. `skipping`: the begin of this line was too long and is gone. */
static void take_lines(connection *c, kf_buffer *input, size_t looked, bool *skipping)
{
    char *line = input->data;
    size_t left = input->size;
    for (char *end; left > looked && (end = memchr(line + looked, '\n', left - looked));) {
        size_t size = (size_t)(end - line);
        *end = '\0';
        if (!*skipping) take_line(c, line, size);
        *skipping = false;
        line = end + 1;
        left -= size + 1;
        looked = 0;
    }
    if (left > KF_MCP_BYTES) {
        if (!*skipping) refuse_line(c);
        *skipping = true;
        left = 0;
    }
    if (left) memmove(input->data, line, left);
    input->size = left;
}

/* Reads until the input ends. */
static bool read_all(connection *c, int input, const volatile int *stop, kf_error *error)
{
    kf_autobuffer buffer = {0};
    bool skipping = false;
    while (!*stop && !atomic_load(&c->broken)) {
        struct pollfd fds[] = {{.fd = input, .events = POLLIN}, {.fd = c->output}};
        int ready = poll(fds, 2, POLL_MILLISECONDS);
        if (ready < 0 && errno != EINTR)
            return kf_fail(error, KF_ERROR_IO, "standard input: %s", strerror(errno));
        if (ready > 0 && fds[1].revents & (POLLERR | POLLNVAL)) return true;
        if (ready <= 0 || !fds[0].revents) continue;
        char *place = kf_buffer_reserve(&buffer, 65536);
        if (!place) return kf_fail_memory(error, "a line");
        ssize_t size = read(input, place, 65536);
        if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (size < 0) return kf_fail(error, KF_ERROR_IO, "standard input: %s", strerror(errno));
        if (size == 0) return true;
        size_t looked = buffer.size;
        buffer.size += (size_t)size;
        take_lines(c, &buffer, looked, &skipping);
    }
    return true;
}

bool kf_mcp_serve(kf_mcp *server, int input, int output, const volatile int *stop, kf_error *error)
{
    connection c = {.output = output};
    kf_auto(kf_mcp_session) session = kf_mcp_session_new(server, write_line, &c);
    if (!session) return kf_fail_memory(error, "a session");
    c.session = session;
    pthread_mutex_init(&c.writing, NULL);
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.ended, NULL);
    bool good = read_all(&c, input, stop, error);
    kf_mcp_session_close(session);
    pthread_mutex_lock(&c.lock);
    while (c.running) pthread_cond_wait(&c.ended, &c.lock);
    pthread_mutex_unlock(&c.lock);
    pthread_cond_destroy(&c.ended);
    pthread_mutex_destroy(&c.lock);
    pthread_mutex_destroy(&c.writing);
    return good;
}
