/* HTTP requests, many at once, in one thread: one curl_multi object, one epoll descriptor, no
 * thread per request.
 *
 * A request is a POST or GET. Its reply arrives in pieces. kf_http_step alone calls the handlers:
 * `header` for each header (name in lower case), `data` for each piece of the body, `done` once,
 * last. A handler may start and cancel any request.
 *
 * Refused: redirects (a key must not follow one), plain http to another machine unless allowed,
 * names and passwords in an address, other protocols, bodies over `most_bytes` (decompressed).
 * Certificates are always checked, against $KFORGE_CA_FILE, $SSL_CERT_FILE or $CURL_CA_BUNDLE if
 * one is set. Proxies come from HTTPS_PROXY, ALL_PROXY and NO_PROXY. Requests to this machine use
 * no proxy. Connections are kept for the next request. An object belongs to one thread. */
#ifndef KFORGE_HTTP_H
#define KFORGE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

typedef struct kf_http kf_http;
typedef struct kf_http_transfer kf_http_transfer;

typedef enum kf_http_fault {
    /* A whole reply came, with any status. */
    KF_HTTP_NO_FAULT,
    /* Name, connection or proxy: nothing was sent. */
    KF_HTTP_CONNECT,
    /* Certificate or handshake. */
    KF_HTTP_TLS,
    /* No byte came within first_byte_seconds. */
    KF_HTTP_FIRST_BYTE,
    /* No further byte came within stall_seconds, or within first_byte_seconds before
     * kf_http_answering. */
    KF_HTTP_STALL,
    /* Over total_seconds. */
    KF_HTTP_TOTAL,
    /* The connection ended before the reply did. */
    KF_HTTP_CLOSED,
    KF_HTTP_TOO_LARGE,
    KF_HTTP_REDIRECT,
    /* `data` returned false. */
    KF_HTTP_STOPPED,
    KF_HTTP_OTHER,
} kf_http_fault;

typedef struct kf_http_result {
    kf_http_fault fault;
    /* 0: no reply. */
    int status;
    /* The server may have received the whole request. */
    bool was_sent;
    /* Set unless fault is KF_HTTP_NO_FAULT. */
    kf_error error;
} kf_http_result;

typedef struct kf_http_request {
    const char *url;
    /* "Name: value", ends with NULL. Copied. */
    const char *const *headers;
    /* NULL: GET. Copied. */
    const void *body;
    size_t body_size;
    /* 0: 15, 600, 120, 1800. */
    double connect_seconds, first_byte_seconds, stall_seconds, total_seconds;
    /* 0: 64 MiB. */
    size_t most_bytes;
    void *context;
    /* May be NULL. */
    void (*header)(void *context, const char *name, const char *value);
    bool (*data)(void *context, const char *data, size_t size);
    void (*done)(void *context, const kf_http_result *result);
} kf_http_request;

kf_http *kf_http_new(kf_error *error);
/* Requests in flight end without a call of `done`. */
void kf_http_free(kf_http *http);
KF_DEFINE_AUTO(kf_http, kf_http_free)

/* True if a key and a prompt may be sent to `url`. KF_ERROR_INPUT gives the reason if not.
 * `allow_plain`: also http to other machines. */
bool kf_http_check_url(const char *url, bool allow_plain, kf_error *error);

/* Starts a request. NULL if it can't be made. The object ends with `done`. */
kf_http_transfer *kf_http_start(kf_http *http, const kf_http_request *request, kf_error *error);
/* Says that the reply proper has begun. From now on a silence of stall_seconds ends the request.
 * Before, first_byte_seconds applies: some models greet and then think for minutes. */
void kf_http_answering(kf_http_transfer *transfer);
/* Ends the request without a call of a handler. */
void kf_http_cancel(kf_http *http, kf_http_transfer *transfer);
/* Returns the status of the reply while `data` runs. 0 before there is one. */
int kf_http_status(const kf_http *http, const kf_http_transfer *transfer);
/* Waits up to `seconds` for an event and handles it. False if a signal came. */
bool kf_http_step(kf_http *http, double seconds);
/* For callers with an event loop: kf_http_step is due when this descriptor is readable, or at *wake
 * (kf_now). *wake is only lowered. */
int kf_http_watch(const kf_http *http, double *wake);

#endif
