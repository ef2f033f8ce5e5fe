/* POST /mcp: the Model Context Protocol (agent/mcp) over streamable HTTP. A tool may wait, so each
 * request has a thread. The answer is JSON, or a stream of events once there is progress. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "mcp.h"
#include "serve.h"

#define EVENTS "text/event-stream"
/* Most requests in work. */
#define MOST_THREADS 64

static atomic_int threads;

/* A request and its answer. The exchange and the thread hold it. */
typedef struct posting {
    kf_mcp *server;
    kf_exchange *exchange;
    pthread_mutex_t lock;
    int references;
    atomic_bool closed;
    /* Copies of headers and body: only the listener's thread may read the exchange. */
    char *version, *method, *name, *body;
    size_t size;
    bool takes_events;
    /* Events were written. */
    bool is_stream;
    bool is_done;
    int status;
    /* NULL: no body */
    char *answer;
} posting;

static void posting_release(posting *p)
{
    pthread_mutex_lock(&p->lock);
    bool last = --p->references == 0;
    pthread_mutex_unlock(&p->lock);
    if (!last) return;
    pthread_mutex_destroy(&p->lock);
    free(p->version);
    free(p->method);
    free(p->name);
    free(p->body);
    free(p->answer);
    free(p);
}

/* The client has its answer, or has gone. */
static void posting_end(void *state)
{
    posting *p = state;
    atomic_store(&p->closed, true);
    posting_release(p);
}

static void write_event(posting *p, const char *text)
{
    kf_autobuffer event = {0};
    kf_buffer_format(&event, "event: message\ndata: %s\n\n", text);
    if (!event.failed) kf_exchange_write(p->exchange, event.data, event.size);
}

/* Takes a notification. The first one begins the stream. */
static void send_progress(void *context, const char *text)
{
    posting *p = context;
    pthread_mutex_lock(&p->lock);
    p->is_stream = true;
    write_event(p, text);
    pthread_mutex_unlock(&p->lock);
    kf_exchange_wake(p->exchange);
}

static void *run_posting(void *argument)
{
    posting *p = argument;
    const kf_mcp_http post = {.version = p->version,
                              .method = p->method,
                              .name = p->name,
                              .body = p->body,
                              .size = p->size,
                              .closed = &p->closed,
                              .send = p->takes_events ? send_progress : NULL,
                              .context = p};
    int status;
    char *answer = kf_mcp_post(p->server, &post, &status);
    pthread_mutex_lock(&p->lock);
    p->status = status;
    p->answer = answer;
    p->is_done = true;
    if (p->is_stream && answer) write_event(p, answer);
    if (p->is_stream) kf_exchange_close(p->exchange);
    pthread_mutex_unlock(&p->lock);
    kf_exchange_wake(p->exchange);
    atomic_fetch_sub(&threads, 1);
    kf_exchange_release(p->exchange);
    posting_release(p);
    return NULL;
}

static bool start_thread(posting *p)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &attributes, run_posting, p) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* Copies a header. False without memory. */
static bool copy_header(kf_exchange *exchange, const char *name, char **copy)
{
    const char *value = kf_exchange_header(exchange, name);
    *copy = value ? strdup(value) : NULL;
    return *copy || !value;
}

static bool copy_request(posting *p)
{
    const char *accept = kf_exchange_header(p->exchange, "Accept"),
               *body = kf_exchange_body(p->exchange, &p->size);
    p->takes_events = accept && strstr(accept, EVENTS);
    p->body = malloc(p->size + 1);
    if (!p->body) return false;
    memcpy(p->body, body, p->size);
    p->body[p->size] = '\0';
    return copy_header(p->exchange, "MCP-Protocol-Version", &p->version) &&
           copy_header(p->exchange, "Mcp-Method", &p->method) &&
           copy_header(p->exchange, "Mcp-Name", &p->name);
}

static posting *new_posting(kf_exchange *exchange)
{
    posting *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    *p = (posting){.server = kf_exchange_context(exchange), .exchange = exchange, .references = 1};
    pthread_mutex_init(&p->lock, NULL);
    if (copy_request(p)) return p;
    posting_release(p);
    return NULL;
}

/* Begins a request. NULL: the exchange has its answer. */
static posting *begin(kf_exchange *exchange)
{
    posting *p = new_posting(exchange);
    if (!p) {
        kf_exchange_json(exchange, 500, NULL);
        return NULL;
    }
    kf_exchange_set_state(exchange, p, posting_end);
    /* for the thread */
    p->references++;
    kf_exchange_hold(exchange);
    bool room = atomic_fetch_add(&threads, 1) < MOST_THREADS;
    if (room && start_thread(p)) return p;
    atomic_fetch_sub(&threads, 1);
    kf_exchange_add_header(exchange, "Retry-After", "1");
    kf_exchange_error(exchange, 429, "too many requests are in work", "",
                      "Send the request again after the seconds of Retry-After.");
    kf_exchange_release(exchange);
    posting_release(p);
    return NULL;
}

static void handle(kf_exchange *exchange)
{
    posting *p = kf_exchange_state(exchange);
    if (!p && !(p = begin(exchange))) return;
    pthread_mutex_lock(&p->lock);
    bool is_stream = p->is_stream, is_done = p->is_done;
    pthread_mutex_unlock(&p->lock);
    if (is_stream)
        kf_exchange_stream(exchange, EVENTS);
    else if (is_done)
        kf_exchange_text(exchange, (unsigned)p->status, "application/json",
                         p->answer ? p->answer : "");
    else
        kf_exchange_wait(exchange, KF_SERVE_MOST_DEADLINE);
}

const kf_route kf_serve_mcp_routes[] = {
    {"POST", "/mcp", KF_MCP_BYTES, handle},
    {0},
};
