/* When to ask again: back-off, what servers say about waiting, limits of our own, and when to leave
 * a server alone. Pure; times are kf_now seconds, `wall` seconds since 1970. Internal to agent/.
 */
#ifndef KFORGE_LLM_PACE_H
#define KFORGE_LLM_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Full jitter (Brooker, "Exponential Backoff And Jitter", 2015): uniform in [0, min(60, base
 * 2^attempt)]; `fraction` in [0, 1). */
double kf_backoff(int attempt, double base, double fraction);
/* Statuses after which the same request may succeed: 408, 409, 425, 429, 5xx (529 among them), but
 * 501 and 505. */
bool kf_status_is_passing(int status);
/* Seconds that a header's value asks to wait: "20", an HTTP date, an RFC 3339 time, "1m30.5s",
 * "250ms". NaN: it says nothing. */
double kf_wait_parse(const char *value, double wall);

/* What the server last said about its limits, from reply headers (names in lower case):
 * Retry-After, Retry-After-Ms, OpenAI's and compatible servers' x-ratelimit-*, Anthropic's
 * anthropic-ratelimit-*. */
typedef struct kf_server_limits {
    double retry_after;                  /* seconds, NaN none */
    bool no_requests, no_tokens;         /* none remaining */
    double requests_reset, tokens_reset; /* seconds, NaN not said */
} kf_server_limits;
kf_server_limits kf_server_limits_none(void);
void kf_server_limits_header(kf_server_limits *limits, const char *name, const char *value,
                             double wall);
/* Seconds during which the next request would be refused; 0: none. */
double kf_server_limits_wait(const kf_server_limits *limits);

/* A token bucket (requests or tokens a minute) that may run into debt: what a request uses is known
 * after it. It starts full. */
typedef struct kf_bucket {
    double per_minute; /* 0: no limit */
    double level, at;
} kf_bucket;
kf_bucket kf_bucket_new(double per_minute, double now);
/* seconds until something may be taken; 0: now */
double kf_bucket_wait(kf_bucket *bucket, double now);
void kf_bucket_take(kf_bucket *bucket, double amount, double now);

/* Circuit breaker: KF_BREAKER_FAILURES requests in a row that failed with all their retries open it
 * for 15 s, then for twice as long each time, up to 300 s; between, one request at a time tries. */
#define KF_BREAKER_FAILURES 3
typedef struct kf_breaker {
    int failures;
    double open_until, pause;
    bool trying;
} kf_breaker;
/* Seconds until a request is let through; 0: now. */
double kf_breaker_wait(const kf_breaker *breaker, double now);
void kf_breaker_begin(kf_breaker *breaker); /* a request was let through */
void kf_breaker_end(kf_breaker *breaker, bool failed, double now);

#endif
