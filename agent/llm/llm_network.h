/* Models over the network. llm_network.c opens them and decides when a request leaves.
 * llm_attempt.c handles one attempt: it sends, reads and judges the reply. Internal to agent/. */
#ifndef KFORGE_LLM_NETWORK_H
#define KFORGE_LLM_NETWORK_H

#include "budget.h"
#include "http.h"
#include "llm_dialect.h"
#include "llm_retry.h"
#include "llm_provider.h"
#include "prices.h"
#include "sse.h"

/* How the body of a reply reads. The first byte decides, not the header. */
typedef enum kf_body_kind { KF_BODY_UNKNOWN, KF_BODY_EVENTS, KF_BODY_WHOLE } kf_body_kind;

typedef enum kf_request_state {
    KF_REQUEST_WAITING,
    KF_REQUEST_IN_FLIGHT,
    KF_REQUEST_DONE
} kf_request_state;

typedef struct kf_network kf_network;

/* The charges of a request until now, failed attempts included. */
typedef struct kf_request_usage {
    kf_amount used;
    /* As the server counted them. Valid while `counted`. */
    int64_t prompt_tokens, completion_tokens;
    /* True until an attempt was charged that the server did not count. */
    bool counted;
    /* The cost of at least one attempt is known. */
    bool any_cost;
} kf_request_usage;

/* One attempt at a request: from the first byte sent to the end of the reply. */
typedef struct kf_attempt {
    kf_http_transfer *transfer;
    kf_amount reserved;
    kf_answer answer;
    kf_sse sse;
    /* The body of an error, or of a reply that is not streamed. */
    kf_buffer body;
    kf_body_kind kind;
    int status;
    int bad_events;
    char content_type[96];
    kf_server_limits limits;
    /* The reason why kforge stopped reading. */
    kf_error fault;
} kf_attempt;

/* One request of a caller with all its attempts. */
typedef struct kf_request {
    struct kf_request *next;
    kf_network *network;
    kf_request_state state;
    char *system, *prompt;
    double temperature;
    int64_t max_tokens;
    /* As in kf_llm_request. */
    bool trial, listing;
    /* When the caller submitted it, and when the next attempt may leave (kf_now). */
    double submitted, due;
    /* Attempts that failed and may be repeated. */
    int failures;
    kf_llm_reply reply;
    /* The text until the token limit, while kforge has it continued. */
    kf_buffer begun;
    int continuations;
    kf_request_usage usage;
    kf_attempt attempt;
} kf_request;

typedef struct kf_network_key {
    /* The environment variable that holds it. */
    char *name;
    /* Owned by api_key.c. NULL: no key. */
    const char *value;
    /* "api-key: %s". NULL: the dialect's form. */
    const char *form;
} kf_network_key;

/* Limits of one attempt, in seconds. */
typedef struct kf_network_timeouts {
    double connect, first_byte, stall, total;
} kf_network_timeouts;

/* What decides when the next request may leave. */
typedef struct kf_network_pace {
    kf_bucket requests, tokens;
    kf_breaker breaker;
    /* The server asked kforge to wait until then. */
    double hold_until;
} kf_network_pace;

struct kf_network {
    /* "openai" */
    const char *provider;
    const kf_dialect *dialect;
    /* For errors: "openai:gpt-5". */
    char *label;
    char *model, *base;
    kf_network_key key;
    /* OpenRouter: the body of the request asks for the cost. */
    bool wants_cost;
    kf_call_settings settings;
    kf_price price;
    bool price_given;
    kf_network_timeouts timeouts;
    double backoff;
    int retries, parallel, continuations;
    /* Shared by all providers of this thread. */
    kf_http *http;
    kf_budget *budget;
    kf_network_pace pace;
    /* The server has answered, with any status. */
    bool reached;
    /* Why the last attempt failed that is repeated, or why the caller waits. "" without. */
    kf_error trouble;
    kf_request *requests;
    int request_count;
    /* State of the random numbers for the back-off. */
    uint64_t random;
};

/* Returns the most that an attempt can use if its reply has up to `max_tokens` tokens. */
kf_amount kf_request_most(const kf_request *request, int64_t max_tokens);
/* Sends the request. `request->attempt.reserved` must be reserved already. False with *error if the
 * request can't be made. */
bool kf_request_begin(kf_request *request, int64_t max_tokens, kf_error *error);
/* Ends the attempt in flight, if there is one, and books what it may have cost. */
void kf_request_abort(kf_request *request);
/* Completes the request with this failure. */
void kf_request_fail(kf_request *request, kf_llm_outcome outcome, kf_error_code code,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
void kf_request_free(kf_request *request);

#endif
