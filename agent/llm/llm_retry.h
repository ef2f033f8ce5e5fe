/* If and when a request is sent again: passing errors, back-off, waits that servers ask for, rate
 * limits, circuit breaker. Pure functions. Times are kf_now seconds, `wall` is seconds since 1970.
 * Internal to agent/. */
#ifndef KFORGE_LLM_RETRY_H
#define KFORGE_LLM_RETRY_H

#include <stdbool.h>

/* Returns the seconds to wait before an attempt: full jitter, uniform in [0, min(60, base
 * 2^attempt)]. `fraction` is in [0, 1). Source: Brooker, "Exponential Backoff And Jitter", 2015. */
double kf_backoff(int attempt, double base, double fraction);
/* True if the same request may succeed later: 408, 409, 425, 429 and 5xx (529 among them) except
 * 501 and 505. */
bool kf_status_is_passing(int status);
/* Reads the seconds to wait from a header's value: "20", an HTTP date, an RFC 3339 time, "1m30.5s",
 * "250ms". Returns NaN for any other form. */
double kf_wait_parse(const char *value, double wall);

/* The limits that the server last reported. The reply headers, in lower case: Retry-After,
 * Retry-After-Ms, x-ratelimit-* of OpenAI and compatible servers, anthropic-ratelimit-*. */
typedef struct kf_server_limits {
    /* Seconds. NaN: the server gave no such header. */
    double retry_after;
    /* No request or no token remains. */
    bool no_requests, no_tokens;
    /* Seconds. NaN: the server gave no such header. */
    double requests_reset, tokens_reset;
} kf_server_limits;
kf_server_limits kf_server_limits_none(void);
void kf_server_limits_header(kf_server_limits *limits, const char *name, const char *value,
                             double wall);
/* Returns the seconds for which the server would refuse the next request. */
double kf_server_limits_wait(const kf_server_limits *limits);

/* A token bucket (requests or tokens a minute). It may go into debt, because the use of a request
 * is known only after it. It starts full. */
typedef struct kf_bucket {
    /* 0: no limit. */
    double per_minute;
    double level, at;
} kf_bucket;
kf_bucket kf_bucket_new(double per_minute, double now);
/* Returns the seconds until the bucket allows a request. 0: now. */
double kf_bucket_wait(kf_bucket *bucket, double now);
void kf_bucket_take(kf_bucket *bucket, double amount, double now);

/* Circuit breaker. KF_BREAKER_FAILURES requests in a row that failed with all their retries open
 * it, first for 15 s, then for twice as long each time, up to 300 s. In between, one request at a
 * time is let through. */
#define KF_BREAKER_FAILURES 3
typedef struct kf_breaker {
    int failures;
    double open_until, pause;
    bool trying;
} kf_breaker;
/* Returns the seconds until a request is let through. 0: now. */
double kf_breaker_wait(const kf_breaker *breaker, double now);
/* Call it when a request was let through. */
void kf_breaker_begin(kf_breaker *breaker);
void kf_breaker_end(kf_breaker *breaker, bool failed, double now);

#endif
