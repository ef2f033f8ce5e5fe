/* HTTP requests, many at once, in one thread: one curl_multi object, one epoll descriptor, no
 * thread per request.
 *
 * A request is a POST or GET whose reply arrives in pieces. Its handlers are called from
 * kf_http_step only: `header` once a header (name in lower case), `data` for each piece of the
 * body, `done` once, last. A handler may start and cancel requests, its own included.
 *
 * What is refused: redirects (a key must not follow one), plain http to anything but this machine
 * unless allowed, names and passwords in an address, other protocols, bodies over `most_bytes`
 * (counted when decompressed). Certificates are always checked, against $KFORGE_CA_FILE,
 * $SSL_CERT_FILE or $CURL_CA_BUNDLE where one is set. Proxies come from HTTPS_PROXY, ALL_PROXY and
 * NO_PROXY; requests to this machine use none. Connections are kept for the next request. An object
 * belongs to one thread.
 */
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
    KF_HTTP_NO_FAULT,   /* a whole reply came, whatever its status says */
    KF_HTTP_CONNECT,    /* name, connection, proxy: nothing was sent */
    KF_HTTP_TLS,        /* certificate or handshake */
    KF_HTTP_FIRST_BYTE, /* nothing came within first_byte_seconds */
    /* nothing more came for stall_seconds, or first_byte_seconds before kf_http_answering */
    KF_HTTP_STALL,
    KF_HTTP_TOTAL,  /* over total_seconds */
    KF_HTTP_CLOSED, /* the connection ended within the reply or before it */
    KF_HTTP_TOO_LARGE,
    KF_HTTP_REDIRECT,
    KF_HTTP_STOPPED, /* `data` returned false */
    KF_HTTP_OTHER,
} kf_http_fault;

typedef struct kf_http_result {
    kf_http_fault fault;
    int status;     /* 0: no reply */
    double seconds; /* from the start */
    double first;   /* until the first byte of the body; NaN none */
    uint64_t bytes; /* of the body */
    bool was_sent;  /* the server may have got all of the request */
    kf_error error; /* when fault is not KF_HTTP_NO_FAULT */
} kf_http_result;

typedef struct kf_http_request {
    const char *url;
    const char *const *headers; /* "Name: value", ends with NULL; copied */
    const void *body;           /* NULL: GET; copied */
    size_t body_size;
    /* 0: 15, 600, 120, 1800 */
    double connect_seconds, first_byte_seconds, stall_seconds, total_seconds;
    size_t most_bytes; /* 0: 64 MiB */
    void *context;
    void (*header)(void *context, const char *name, const char *value); /* may be NULL */
    bool (*data)(void *context, const char *data, size_t size);
    void (*done)(void *context, const kf_http_result *result);
} kf_http_request;

kf_http *kf_http_new(kf_error *error);
void kf_http_free(kf_http *http); /* `done` is not called for what is in flight */
KF_DEFINE_AUTO(kf_http, kf_http_free)

/* May a key and a prompt be sent there? KF_ERROR_INPUT says why not. `allow_plain`: http to other
 * machines, too. */
bool kf_http_check_url(const char *url, bool allow_plain, kf_error *error);

/* Starts a request; NULL when it can't be made. The object is gone after `done`. */
kf_http_transfer *kf_http_start(kf_http *http, const kf_http_request *request, kf_error *error);
/* The reply proper has begun: from now on a silence of stall_seconds ends it. Before, it is one of
 * first_byte_seconds, for models that greet and then think for minutes without a word. */
void kf_http_answering(kf_http_transfer *transfer);
/* Ends it; no handler is called any more. */
void kf_http_cancel(kf_http *http, kf_http_transfer *transfer);
/* The status of the reply whose body `data` is being given; 0 before there is one. */
int kf_http_status(const kf_http *http, const kf_http_transfer *transfer);
size_t kf_http_in_flight(const kf_http *http);
/* Waits up to `seconds` for something to happen and does it. False when a signal came. */
bool kf_http_step(kf_http *http, double seconds);
/* For callers that wait for other things, too: kf_http_step is due when this descriptor is
 * readable, or at *wake (kf_now; lowered only). */
int kf_http_watch(const kf_http *http, double *wake);

#endif
