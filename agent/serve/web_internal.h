/* The parts of the HTTP server: listeners, exchanges, and the thread that watches waiting
 * exchanges. One mutex, kf_web.lock, protects the state of all exchanges. */
#ifndef KFORGE_WEB_INTERNAL_H
#define KFORGE_WEB_INTERNAL_H

#include <pthread.h>

#include "microhttpd_library.h"
#include "web.h"
#include "kforge/buffer.h"

#define KF_EXCHANGE_HEADERS 4

typedef struct kf_web_listener {
    kf_web *http;
    struct MHD_Daemon *daemon;
    int socket;
    bool is_unix;
    /* As printed. */
    char address[160];
    /* Of a unix socket, to remove at the end. "" for TCP. */
    char path[112];
} kf_web_listener;

typedef struct kf_exchange_answer {
    struct MHD_Response *response;
    unsigned status;
    const char *names[KF_EXCHANGE_HEADERS];
    char values[KF_EXCHANGE_HEADERS][384];
    size_t header_count;
    /* A stream: `stream` holds the bytes to send. */
    bool is_closed;
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
    kf_web *http;
    kf_web_listener *listener;
    struct MHD_Connection *connection;
    int references;
    const kf_route *route;
    void *context;
    const char *method, *path;
    /* Owned, with NULs at the ends of its parts. */
    char *parts_text;
    const char *parts[KF_ROUTE_PARTS];
    kf_buffer body;
    /* Bytes that count in kf_web.body_bytes. */
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
typedef struct kf_web_watch {
    pthread_t thread;
    int epoll, wake;
    bool is_running, is_closing;
    /* Exchanges that wait. */
    kf_exchange *first;
} kf_web_watch;

struct kf_web {
    const kf_mhd_library *mhd;
    const kf_web_options *options;
    pthread_mutex_t lock;
    kf_web_listener listeners[KF_WEB_LISTENERS];
    size_t listener_count;
    size_t body_bytes;
    /* Exchanges in memory, and the signal that one was freed. */
    size_t exchanges;
    pthread_cond_t freed;
    kf_web_watch watch;
};

/* ---- web_listen.c ---------------------------------------------------------------------------- */

/* True for the form of an address. */
bool kf_web_is_address(const char *text, kf_error *error);
/* Opens the socket of an address. The caller closes it with kf_web_unlisten. */
bool kf_web_listen(kf_web_listener *listener, const char *text, kf_error *error);
void kf_web_unlisten(kf_web_listener *listener);

/* ---- web_access.c ---------------------------------------------------------------------------- */

/* True if the request may pass: its token is right, and no web page of another site sent it.
 * Otherwise queues an answer for the exchange. */
bool kf_web_guard(kf_exchange *exchange);

/* ---- web_watch.c ----------------------------------------------------------------------------- */

bool kf_web_watch_start(kf_web *http, kf_error *error);
void kf_web_watch_end(kf_web *http);
/* With the lock held: suspends the connection until a wake. */
void kf_web_suspend(kf_exchange *exchange, double wake_at);
/* With the lock held: resumes it. */
void kf_web_resume(kf_exchange *exchange);

/* ---- web_answers.c --------------------------------------------------------------------------- */

kf_exchange *kf_exchange_new(kf_web *http, kf_web_listener *listener,
                             struct MHD_Connection *connection, const char *url,
                             const char *method);
/* With the lock held. */
void kf_exchange_unref(kf_exchange *exchange);
/* Hands the answer to MHD. False: MHD closes the connection. */
bool kf_exchange_send(kf_exchange *exchange);

#endif
