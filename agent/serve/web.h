/* An HTTP server (libmicrohttpd) with a table of routes.
 *
 * A route is a method, a path pattern and a handler. Patterns have parts with a '*' for any one
 * part: "/v1/jobs/ *" without the blank. The first route that fits handles the request.
 *
 * Threads. Each listener has one thread, on which all handlers of its exchanges run. A handler must
 * not wait. It answers at once, or asks to be called again with kf_exchange_wait. Other threads
 * call only kf_exchange_wake, kf_exchange_write, kf_exchange_close, kf_exchange_hold and
 * kf_exchange_release.
 *
 * Errors are JSON: {"error":{"what","where","todo","status"}}. */
#ifndef KFORGE_WEB_H
#define KFORGE_WEB_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

/* Most connections of a listener. */
#define KF_WEB_CONNECTIONS 1024
/* Most bytes of all bodies that are being read or are in work. */
#define KF_WEB_BODIES (128u << 20)
/* Seconds without a byte, and for a whole body. */
#define KF_WEB_IDLE_SECONDS 60
#define KF_WEB_BODY_SECONDS 60.0
#define KF_WEB_LISTENERS 8
#define KF_WEB_TABLES 8
/* Most parts of a path that a '*' stands for. */
#define KF_ROUTE_PARTS 3

typedef struct kf_web kf_web;
typedef struct kf_exchange kf_exchange;

typedef struct kf_route {
    /* "GET", "POST", "DELETE" */
    const char *method;
    const char *pattern;
    /* Most bytes of the body. */
    size_t body_bytes;
    /* Answers the request, or calls kf_exchange_wait. Called again after each wait. */
    void (*handle)(kf_exchange *exchange);
} kf_route;

/* A table of routes, which ends with a row without a method. */
typedef struct kf_route_table {
    const kf_route *routes;
    /* kf_exchange_context of its exchanges. */
    void *context;
} kf_route_table;

typedef struct kf_web_options {
    /* "HOST:PORT" with an address in numbers or "localhost", "[::1]:PORT", or "unix:PATH". Port 0:
     * any free port. */
    const char *const *listen;
    size_t listen_count;
    /* Clients must send "Authorization: Bearer TOKEN". NULL: no token. */
    const char *token;
    kf_route_table tables[KF_WEB_TABLES];
    size_t table_count;
} kf_web_options;

/* Checks the addresses and the token, before anything is opened. kf_web_open checks them, too. */
bool kf_web_check(const kf_web_options *options, kf_error *error);
/* Opens the listeners and serves. KF_ERROR_INPUT for an address that is not loopback without a
 * token. `options` is borrowed until kf_web_close. */
kf_web *kf_web_open(const kf_web_options *options, kf_error *error);
/* Ends all exchanges without waiting for answers, and closes the listeners. */
void kf_web_close(kf_web *http);
KF_DEFINE_AUTO(kf_web, kf_web_close)
/* Returns the address of a listener: "http://127.0.0.1:8642" or "unix:/path". Borrowed. NULL: there
 * are fewer. */
const char *kf_web_address(const kf_web *http, size_t index);
/* True if the text is an address on this machine alone. */
bool kf_web_is_local(const char *listen);

/* ---- the request ----------------------------------------------------------------------------- */

void *kf_exchange_context(const kf_exchange *exchange);
const char *kf_exchange_path(const kf_exchange *exchange);
/* Returns the part of the path that the '*' with this index stands for. */
const char *kf_exchange_part(const kf_exchange *exchange, size_t index);
/* Return a header, or a parameter of the query; NULL: not given. */
const char *kf_exchange_header(const kf_exchange *exchange, const char *name);
const char *kf_exchange_query(const kf_exchange *exchange, const char *name);
/* Returns the body, which ends with a NUL. */
const char *kf_exchange_body(const kf_exchange *exchange, size_t *size);
/* The handler's own state. `end` is called once when the exchange is over or the client has gone,
 * on the listener's thread. */
void kf_exchange_set_state(kf_exchange *exchange, void *state, void (*end)(void *state));
void *kf_exchange_state(const kf_exchange *exchange);

/* ---- the answer ------------------------------------------------------------------------------ */

/* Adds a header to the answer that follows. `name` is borrowed and must be constant. */
void kf_exchange_add_header(kf_exchange *exchange, const char *name, const char *value);
/* Answers with JSON, which the function takes over. NULL: 500, out of memory. */
void kf_exchange_json(kf_exchange *exchange, unsigned status, cJSON *json);
/* Answers with a text, which the function copies. */
void kf_exchange_text(kf_exchange *exchange, unsigned status, const char *type, const char *text);
/* Answers with an error. `where` "" if the whole request is meant. */
void kf_exchange_error(kf_exchange *exchange, unsigned status, const char *what, const char *where,
                       const char *todo);
/* Answers with 200 and a stream of `type`. Then kf_exchange_write and kf_exchange_close send it. */
void kf_exchange_stream(kf_exchange *exchange, const char *type);

/* Lets the handler be called again after kf_exchange_wake, at latest after `seconds`. If the client
 * goes meanwhile, the exchange ends instead. */
void kf_exchange_wait(kf_exchange *exchange, double seconds);
/* Wakes a waiting exchange. From any thread, with a reference. */
void kf_exchange_wake(kf_exchange *exchange);
/* Appends to a stream, or ends it. From any thread, with a reference. False if the client has gone
 * or there is no memory. */
bool kf_exchange_write(kf_exchange *exchange, const char *data, size_t size);
void kf_exchange_close(kf_exchange *exchange);
/* Take and give up a reference. The exchange's memory lives until the last one is given up. */
kf_exchange *kf_exchange_hold(kf_exchange *exchange);
void kf_exchange_release(kf_exchange *exchange);

#endif
