/* The parts of the HTTP server: listeners, exchanges, and the thread that watches waiting
 * exchanges. One mutex, kf_http.lock, protects the state of all exchanges. */
#ifndef KFORGE_HTTP_INTERNAL_H
#define KFORGE_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>

#include "http.h"
#include "kforge/buffer.h"

#define KF_EXCHANGE_HEADERS 4

typedef struct kf_http_listener {
    kf_http *http;
    struct MHD_Daemon *daemon;
    int socket;
    bool is_unix;
    /* As printed. */
    char address[160];
    /* Of a unix socket, to remove at the end. "" for TCP. */
    char path[112];
} kf_http_listener;

/* The answer of an exchange. */
typedef struct kf_exchange_answer {
    struct MHD_Response *response;
    unsigned status;
    const char *names[KF_EXCHANGE_HEADERS];
    char values[KF_EXCHANGE_HEADERS][64];
    size_t header_count;
    /* A stream: `stream` holds the bytes to send. */
    bool is_stream, is_closed;
    kf_buffer stream;
} kf_exchange_answer;

typedef enum kf_exchange_phase {
    KF_EXCHANGE_READING,
    /* The handler has to be called. */
    KF_EXCHANGE_READY,
    /* The handler waits. */
    KF_EXCHANGE_WAITING,
    KF_EXCHANGE_ANSWERED,
} kf_exchange_phase;

struct kf_exchange {
    kf_http *http;
    kf_http_listener *listener;
    struct MHD_Connection *connection;
    int references;
    const kf_route *route;
    void *context;
    const char *method, *path;
    /* Owned, with NULs at the ends of its parts. */
    char *parts_text;
    const char *parts[KF_ROUTE_PARTS];
    kf_buffer body;
    /* Bytes that count in kf_http.body_bytes. */
    size_t counted;
    double began;
    kf_exchange_phase phase;
    /* Bytes of a rejected body that were thrown away. */
    size_t drained;
    /* is_suspended: MHD has suspended the connection, and the exchange is in the list of waiting
     * ones. */
    bool is_suspended, is_woken, is_gone, is_rejected;
    double wake_at;
    kf_exchange *next, *previous;
    void *state;
    void (*end)(void *state);
    kf_exchange_answer answer;
};

/* The thread that wakes waiting exchanges at their time, and ends those without a client. */
typedef struct kf_http_watch {
    pthread_t thread;
    int epoll, wake;
    bool is_running, is_closing;
    /* Exchanges that wait. */
    kf_exchange *first;
} kf_http_watch;

struct kf_http {
    const kf_http_options *options;
    pthread_mutex_t lock;
    kf_http_listener listeners[KF_HTTP_LISTENERS];
    size_t listener_count;
    size_t body_bytes;
    /* Exchanges in memory, and the signal that one was freed. */
    size_t exchanges;
    pthread_cond_t freed;
    kf_http_watch watch;
};

/* ---- http_listen.c --------------------------------------------------------------------------- */

/* Opens the socket of an address. The caller closes it with kf_http_unlisten. */
bool kf_http_listen(kf_http_listener *listener, const char *text, kf_error *error);
void kf_http_unlisten(kf_http_listener *listener);

/* ---- http_guard.c ---------------------------------------------------------------------------- */

/* True if the request may pass: its token is right, and no web page of another site sent it.
 * Otherwise queues an answer for the exchange. */
bool kf_http_guard(kf_exchange *exchange);

/* ---- http_watch.c ---------------------------------------------------------------------------- */

bool kf_http_watch_start(kf_http *http, kf_error *error);
void kf_http_watch_end(kf_http *http);
/* With the lock held: suspends the connection until a wake. */
void kf_http_suspend(kf_exchange *exchange, double wake_at);
/* With the lock held: resumes it. */
void kf_http_resume(kf_exchange *exchange);

/* ---- http_exchange.c ------------------------------------------------------------------------- */

kf_exchange *kf_exchange_new(kf_http *http, kf_http_listener *listener,
                             struct MHD_Connection *connection, const char *url,
                             const char *method);
/* With the lock held. */
void kf_exchange_unref(kf_exchange *exchange);
/* Hands the answer to MHD. False: MHD closes the connection. */
bool kf_exchange_send(kf_exchange *exchange);

#endif
