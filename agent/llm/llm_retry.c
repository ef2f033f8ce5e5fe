#include "llm_retry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_BACKOFF 60
#define FIRST_PAUSE 15
#define MAX_PAUSE 300

double kf_backoff(int attempt, double base, double fraction)
{
    return fraction * fmin(MAX_BACKOFF, base * ldexp(1, attempt < 30 ? attempt : 30));
}

bool kf_status_is_passing(int status)
{
    return status == 408 || status == 409 || status == 425 || status == 429 ||
           (status >= 500 && status < 600 && status != 501 && status != 505);
}

/* ---- limits of servers ----------------------------------------------------------------------- */

/* Returns the seconds of "1m30.5s", "250ms", "6h0m0s" or "20". NaN for any other text. */
static double parse_duration(const char *text)
{
    double sum = 0;
    if (!*text) return NAN;
    while (*text) {
        char *end;
        if (!strchr("0123456789.", *text)) return NAN;
        double number = strtod(text, &end);
        if (end == text || !isfinite(number)) return NAN;
        if (*end == '\0' || strcmp(end, " ") == 0)
            return text[0] ? sum + number : NAN;
        else if (strncmp(end, "ms", 2) == 0)
            sum += number * 1e-3, end += 2;
        else if (*end == 's')
            sum += number, end++;
        else if (*end == 'm')
            sum += number * 60, end++;
        else if (*end == 'h')
            sum += number * 3600, end++;
        else if (*end == 'd')
            sum += number * 86400, end++;
        else
            return NAN;
        text = end;
    }
    return sum;
}

static double parse_date(const char *text, double wall)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S", "%A, %d-%b-%y %H:%M:%S",
                                        "%a %b %d %H:%M:%S %Y", "%Y-%m-%dT%H:%M:%S"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm parts = {0};
        if (!strptime(text, forms[i], &parts)) continue;
        double wait = difftime(timegm(&parts), 0) - wall;
        return wait > 0 ? wait : 0;
    }
    return NAN;
}

double kf_wait_parse(const char *value, double wall)
{
    while (*value == ' ' || *value == '\t') value++;
    double seconds = parse_duration(value);
    if (isnan(seconds)) seconds = parse_date(value, wall);
    return seconds < 1e9 ? seconds : NAN;
}

kf_server_limits kf_server_limits_none(void)
{
    return (kf_server_limits){.retry_after = NAN, .requests_reset = NAN, .tokens_reset = NAN};
}

static bool is_zero(const char *value)
{
    char *end;
    double left = strtod(value, &end);
    return end != value && left <= 0;
}

void kf_server_limits_header(kf_server_limits *limits, const char *name, const char *value,
                             double wall)
{
    double wait = kf_wait_parse(value, wall);
    if (strcmp(name, "retry-after-ms") == 0) {
        char *end;
        double milliseconds = strtod(value, &end);
        if (end != value && milliseconds >= 0 && milliseconds < 1e12)
            limits->retry_after = milliseconds * 1e-3;
        return;
    }
    if (strcmp(name, "retry-after") == 0) {
        if (!isnan(wait) && isnan(limits->retry_after)) limits->retry_after = wait;
        return;
    }
    const char *rest = NULL;
    if (strncmp(name, "x-ratelimit-", 12) == 0) rest = name + 12;
    if (strncmp(name, "anthropic-ratelimit-", 20) == 0) rest = name + 20;
    if (!rest) return;
    bool tokens = strstr(rest, "tokens"), requests = strstr(rest, "requests");
    if (strstr(rest, "remaining")) {
        if (requests && is_zero(value)) limits->no_requests = true;
        if (tokens && is_zero(value)) limits->no_tokens = true;
    } else if (strstr(rest, "reset") && !isnan(wait)) {
        if (requests) limits->requests_reset = wait;
        if (tokens)
            limits->tokens_reset =
                fmax(wait, isnan(limits->tokens_reset) ? 0 : limits->tokens_reset);
    }
}

double kf_server_limits_wait(const kf_server_limits *limits)
{
    double wait = isnan(limits->retry_after) ? 0 : limits->retry_after;
    if (limits->no_requests && !isnan(limits->requests_reset))
        wait = fmax(wait, limits->requests_reset);
    if (limits->no_tokens && !isnan(limits->tokens_reset)) wait = fmax(wait, limits->tokens_reset);
    return wait;
}

/* ---- limits of kforge ------------------------------------------------------------------------ */

kf_bucket kf_bucket_new(double per_minute, double now)
{
    return (kf_bucket){.per_minute = per_minute, .level = per_minute, .at = now};
}

static void fill(kf_bucket *bucket, double now)
{
    if (now > bucket->at)
        bucket->level =
            fmin(bucket->per_minute, bucket->level + (now - bucket->at) * bucket->per_minute / 60);
    bucket->at = now;
}

double kf_bucket_wait(kf_bucket *bucket, double now)
{
    if (bucket->per_minute <= 0) return 0;
    fill(bucket, now);
    double needed = fmin(1, bucket->per_minute);
    return bucket->level >= needed - 1e-9 ? 0 : (needed - bucket->level) * 60 / bucket->per_minute;
}

void kf_bucket_take(kf_bucket *bucket, double amount, double now)
{
    if (bucket->per_minute <= 0) return;
    fill(bucket, now);
    bucket->level -= amount;
}

double kf_breaker_wait(const kf_breaker *breaker, double now)
{
    if (breaker->failures < KF_BREAKER_FAILURES) return 0;
    if (now < breaker->open_until) return breaker->open_until - now;
    /* A trial request is in flight. Its end decides. */
    return breaker->trying ? 1 : 0;
}

void kf_breaker_begin(kf_breaker *breaker)
{
    if (breaker->failures >= KF_BREAKER_FAILURES) breaker->trying = true;
}

void kf_breaker_end(kf_breaker *breaker, bool failed, double now)
{
    breaker->trying = false;
    if (!failed) {
        *breaker = (kf_breaker){0};
        return;
    }
    if (++breaker->failures < KF_BREAKER_FAILURES) return;
    breaker->pause = breaker->pause > 0 ? fmin(2 * breaker->pause, MAX_PAUSE) : FIRST_PAUSE;
    breaker->open_until = now + breaker->pause;
}
