/* The listeners: takes requests in through libmicrohttpd, and calls the handlers. */
#include "web.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "web_internal.h"
#include "kforge/file.h"

/* Bytes of a rejected body that are read, so that the client can read the answer. */
#define DRAINED_BYTES (32u << 20)
#define CONNECTION_BYTES (16u << 10)

/* ---- routes ---------------------------------------------------------------------------------- */

/* True if the path has the pattern. The parts go to the exchange. */
static bool fits(kf_exchange *exchange, const char *pattern, const char *path)
{
    size_t part = 0;
    memset(exchange->parts, 0, sizeof exchange->parts);
    kf_autofree char *text = strdup(path);
    if (!text) return false;
    char *at = text;
    while (*pattern && *at) {
        if (*pattern != '*') {
            if (*pattern++ != *at++) return false;
            continue;
        }
        size_t length = strcspn(at, "/");
        if (!length || part == KF_ROUTE_PARTS) return false;
        exchange->parts[part++] = at;
        at += length;
        pattern++;
    }
    if (*pattern || *at) return false;
    for (size_t i = 0; i < part; i++) {
        char *start = text + (exchange->parts[i] - text);
        start[strcspn(start, "/")] = '\0';
    }
    free(exchange->parts_text);
    exchange->parts_text = kf_steal(&text);
    return true;
}

/* Finds the route, or queues an answer. */
static bool find_route(kf_exchange *exchange)
{
    const kf_web_options *options = exchange->http->options;
    bool is_path = false;
    bool is_head = strcmp(exchange->method, "HEAD") == 0;
    for (size_t i = 0; i < options->table_count; i++) {
        for (const kf_route *r = options->tables[i].routes; r->method; r++) {
            if (!fits(exchange, r->pattern, exchange->path)) continue;
            is_path = true;
            if (strcmp(r->method, is_head ? "GET" : exchange->method) != 0) continue;
            exchange->route = r;
            exchange->context = options->tables[i].context;
            return true;
        }
    }
    if (is_path)
        kf_exchange_error(exchange, 405, "this path has no such method", exchange->method,
                          "docs/guide/serve.md lists the routes.");
    else
        kf_exchange_error(exchange, 404, "there is no such path", exchange->path,
                          "docs/guide/serve.md lists the routes.");
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void reject_large(kf_exchange *exchange)
{
    char what[100];
    snprintf(what, sizeof what, "the body has more than %zu bytes",
             exchange->route ? exchange->route->body_bytes : 0);
    kf_buffer_free(&exchange->body);
    exchange->is_rejected = true;
    kf_exchange_error(exchange, 413, what, "body", "Send a smaller source or fewer items.");
}

static void reject_busy(kf_exchange *exchange)
{
    kf_buffer_free(&exchange->body);
    exchange->is_rejected = true;
    kf_exchange_add_header(exchange, "Retry-After", "1");
    kf_exchange_error(exchange, 429, "the server reads too many bodies at once", "body",
                      "Send the request again after the seconds of Retry-After.");
}

static uint64_t content_length(const kf_exchange *exchange)
{
    const char *text = kf_exchange_header(exchange, "Content-Length");
    return text ? strtoull(text, NULL, 10) : 0;
}

/* Begins an exchange. MHD_NO: the connection is closed. */
static enum MHD_Result begin(kf_exchange *exchange)
{
    if (!find_route(exchange) || !kf_web_guard(exchange)) exchange->is_rejected = true;
    uint64_t length = content_length(exchange);
    if (!exchange->is_rejected && length > exchange->route->body_bytes) reject_large(exchange);
    bool now = exchange->is_rejected && length > DRAINED_BYTES;
    return !now || kf_exchange_send(exchange) ? MHD_YES : MHD_NO;
}

/* Counts bytes of a body, and rejects it beyond the limit of all bodies. */
static bool count_bytes(kf_exchange *exchange, size_t size)
{
    kf_web *http = exchange->http;
    pthread_mutex_lock(&http->lock);
    bool room = http->body_bytes + size <= KF_WEB_BODIES;
    if (room) http->body_bytes += size, exchange->counted += size;
    pthread_mutex_unlock(&http->lock);
    return room;
}

static enum MHD_Result read_body(kf_exchange *exchange, const char *data, size_t size)
{
    if (kf_now() - exchange->began > KF_WEB_BODY_SECONDS) return MHD_NO;
    if (exchange->is_rejected) {
        exchange->drained += size;
        return exchange->drained > DRAINED_BYTES ? MHD_NO : MHD_YES;
    }
    if (exchange->body.size + size > exchange->route->body_bytes) {
        reject_large(exchange);
    } else if (!count_bytes(exchange, size)) {
        reject_busy(exchange);
    } else {
        kf_buffer_append(&exchange->body, data, size);
        if (exchange->body.failed) reject_busy(exchange);
    }
    return MHD_YES;
}

/* Calls the handler until it has answered or waits. */
static enum MHD_Result process(kf_exchange *exchange)
{
    kf_web *http = exchange->http;
    for (;;) {
        pthread_mutex_lock(&http->lock);
        bool gone = exchange->is_gone || http->watch.is_closing;
        exchange->is_woken = false;
        pthread_mutex_unlock(&http->lock);
        if (gone) return MHD_NO;
        exchange->phase = KF_EXCHANGE_READY;
        exchange->route->handle(exchange);
        if (exchange->phase == KF_EXCHANGE_READY)
            kf_exchange_error(exchange, 500, "the handler gave no answer", exchange->path,
                              "Report this fault of kforge.");
        if (exchange->phase == KF_EXCHANGE_ANSWERED)
            return kf_exchange_send(exchange) ? MHD_YES : MHD_NO;
        pthread_mutex_lock(&http->lock);
        bool again = exchange->is_woken || http->watch.is_closing;
        if (!again) kf_web_suspend(exchange, exchange->wake_at);
        pthread_mutex_unlock(&http->lock);
        if (!again) return MHD_YES;
    }
}

static enum MHD_Result handle(void *argument, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    (void)version;
    kf_web_listener *listener = argument;
    kf_exchange *exchange = *state;
    if (!exchange) {
        kf_web *http = listener->http;
        *state = exchange = kf_exchange_new(http, listener, connection, url, method);
        return exchange ? begin(exchange) : MHD_NO;
    }
    if (*size) {
        enum MHD_Result read = read_body(exchange, data, *size);
        *size = 0;
        return read;
    }
    if (exchange->is_rejected) return kf_exchange_send(exchange) ? MHD_YES : MHD_NO;
    return process(exchange);
}

static void completed(void *argument, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code)
{
    (void)argument, (void)connection, (void)code;
    kf_exchange *exchange = *state;
    if (!exchange) return;
    *state = NULL;
    pthread_mutex_lock(&exchange->http->lock);
    exchange->is_gone = true;
    pthread_mutex_unlock(&exchange->http->lock);
    if (exchange->end) exchange->end(exchange->state);
    if (exchange->answer.response) exchange->http->mhd->destroy_response(exchange->answer.response);
    exchange->answer.response = NULL;
    kf_exchange_release(exchange);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void no_log(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments;
}

static bool start(kf_web *http, kf_web_listener *listener, kf_error *error)
{
    listener->http = http;
    struct MHD_OptionItem options[] = {{MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)no_log, NULL},
                                       {MHD_OPTION_LISTEN_SOCKET, listener->socket, NULL},
                                       {MHD_OPTION_CONNECTION_LIMIT, KF_WEB_CONNECTIONS, NULL},
                                       {MHD_OPTION_CONNECTION_TIMEOUT, KF_WEB_IDLE_SECONDS, NULL},
                                       {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
                                       {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, NULL},
                                       {MHD_OPTION_END, 0, NULL}};
    /* Not epoll: the library uses its edges, and then misses the end of a client that sends and
     * closes at once. */
    listener->daemon = http->mhd->start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        handle, listener, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    /* MHD_stop_daemon closes the socket. */
    if (listener->daemon) listener->socket = -1;
    return listener->daemon ||
           kf_fail(error, KF_ERROR_MACHINE, "%s: the HTTP library did not start: %s",
                   listener->address, strerror(errno));
}

/* Connections need descriptors. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    setrlimit(RLIMIT_NOFILE, &limit);
}

bool kf_web_check(const kf_web_options *options, kf_error *error)
{
    if (options->listen_count > KF_WEB_LISTENERS)
        return kf_fail(error, KF_ERROR_INPUT, "--listen: more than %d addresses", KF_WEB_LISTENERS);
    for (size_t i = 0; i < options->listen_count; i++) {
        if (!kf_web_is_address(options->listen[i], error)) return false;
        if (!options->token && !kf_web_is_local(options->listen[i]))
            return kf_fail(error, KF_ERROR_INPUT,
                           "--listen \"%s\": an address that other machines reach needs --token "
                           "FILE",
                           options->listen[i]);
    }
    return true;
}

static bool open_all(kf_web *http, kf_error *error)
{
    const kf_web_options *options = http->options;
    for (size_t i = 0; i < options->listen_count; i++) {
        if (!kf_web_listen(&http->listeners[i], options->listen[i], error)) {
            kf_web_unlisten(&http->listeners[i]);
            return false;
        }
        http->listener_count++;
    }
    if (!kf_web_watch_start(http, error)) return false;
    for (size_t i = 0; i < http->listener_count; i++)
        if (!start(http, &http->listeners[i], error)) return false;
    return true;
}

kf_web *kf_web_open(const kf_web_options *options, kf_error *error)
{
    const kf_mhd_library *mhd = kf_web_check(options, error) ? kf_mhd_load(error) : NULL;
    if (!mhd) return NULL;
    kf_auto(kf_web) http = calloc(1, sizeof *http);
    if (!http) {
        kf_fail_memory(error, "a server");
        return NULL;
    }
    http->mhd = mhd;
    http->options = options;
    http->watch.epoll = http->watch.wake = -1;
    pthread_mutex_init(&http->lock, NULL);
    pthread_cond_init(&http->freed, NULL);
    raise_descriptors();
    /* The main thread handles signals. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool open = open_all(http, error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return open ? kf_steal(&http) : NULL;
}

void kf_web_close(kf_web *http)
{
    if (!http) return;
    /* No connection may be suspended when its daemon stops. */
    kf_web_watch_end(http);
    for (size_t i = 0; i < http->listener_count; i++) {
        if (http->listeners[i].daemon) http->mhd->stop_daemon(http->listeners[i].daemon);
        kf_web_unlisten(&http->listeners[i]);
    }
    /* Other threads may hold a last reference for a moment. */
    pthread_mutex_lock(&http->lock);
    while (http->exchanges) pthread_cond_wait(&http->freed, &http->lock);
    pthread_mutex_unlock(&http->lock);
    pthread_cond_destroy(&http->freed);
    pthread_mutex_destroy(&http->lock);
    free(http);
}

const char *kf_web_address(const kf_web *http, size_t index)
{
    return index < http->listener_count ? http->listeners[index].address : NULL;
}
