/* Models over the network: the parts of the provider. llm_network.c opens them and decides when a
 * request leaves; llm_attempt.c is one attempt, from its first byte out to what its reply means.
 * Internal to agent/.
 */
#ifndef KFORGE_LLM_NETWORK_H
#define KFORGE_LLM_NETWORK_H

#include "budget.h"
#include "http.h"
#include "llm_dialect.h"
#include "llm_pace.h"
#include "llm_provider.h"
#include "prices.h"
#include "sse.h"

/* How the body of a reply reads, by its first byte rather than by what its header claims. */
typedef enum kf_body_kind { KF_BODY_UNKNOWN, KF_BODY_EVENTS, KF_BODY_WHOLE } kf_body_kind;

typedef enum kf_request_state {
    KF_REQUEST_WAITING,
    KF_REQUEST_FLYING,
    KF_REQUEST_DONE
} kf_request_state;

typedef struct kf_network kf_network;

/* One request of a caller with all its attempts. */
typedef struct kf_request {
    struct kf_request *next;
    kf_network *network;
    kf_request_state state;
    char *system, *prompt;
    double temperature;
    int64_t max_tokens, tag;
    double asked, due; /* kf_now; when the next attempt may leave */
    int failures;      /* attempts that failed and may be repeated */
    kf_llm_reply reply;
    kf_buffer begun;   /* what came until the token limit, being continued */
    int continuations; /* asked for */
    /* What was charged until now, attempts that failed included. */
    kf_amount used;
    /* as the server counted them; -1 as soon as one attempt was not counted */
    int64_t prompt_tokens, completion_tokens;
    bool any_cost, counted;
    /* The attempt under way. */
    kf_http_transfer *transfer;
    kf_amount reserved;
    kf_answer answer;
    kf_sse sse;
    kf_buffer body; /* of an error, or of a reply that is not streamed */
    kf_body_kind kind;
    int status;
    int bad_events;
    char content_type[96];
    kf_server_limits limits;
    kf_error fault; /* what made us stop reading */
} kf_request;

struct kf_network {
    const char *provider; /* "openai" */
    const kf_dialect *dialect;
    char *label; /* for errors: "openai:gpt-5" */
    char *model, *base, *key_name;
    const char *key;      /* of secret.h, NULL none */
    const char *key_form; /* NULL: the dialect's */
    bool wants_cost;      /* OpenRouter: asks for it in the body */
    kf_call_settings settings;
    kf_price price;
    bool price_given;
    double connect, first_byte, stall, timeout, backoff;
    int retries, parallel, continuations;
    kf_http *http; /* shared by all of this thread */
    kf_budget *budget;
    kf_bucket requests, tokens;
    kf_breaker breaker;
    double hold_until; /* the server asked for it */
    kf_request *asks;
    int count;
    uint64_t chance;
};

/* The most that an attempt may use with so many tokens of reply. */
kf_amount kf_request_most(const kf_request *ask, int64_t max_tokens);
/* Sends the request; `ask->reserved` is reserved already. False with *error when it can't even be
 * made. */
bool kf_request_begin(kf_request *ask, int64_t max_tokens, kf_error *error);
/* Ends the attempt under way, if there is one, and books what it may have cost. */
void kf_request_abort(kf_request *ask);
/* DONE with this failure. */
void kf_request_fail(kf_request *ask, kf_llm_outcome outcome, kf_error_code code,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
void kf_request_free(kf_request *ask);

#endif
