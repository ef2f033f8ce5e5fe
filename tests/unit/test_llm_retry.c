/* Waiting: back-off, headers, limits, the circuit breaker. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "llm_retry.h"

#define WALL 1445412480.0 /* Wed, 21 Oct 2015 07:28:00 GMT */

static void waits_are_read(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double seconds;
    } rows[] = {
        {"20", 20},
        {"0", 0},
        {"1.5", 1.5},
        {" 7", 7},
        {"1s", 1},
        {"6m0s", 360},
        {"1m30.5s", 90.5},
        {"250ms", 0.25},
        {"2h", 7200},
        {"Wed, 21 Oct 2015 07:28:30 GMT", 30},
        {"Wednesday, 21-Oct-15 07:29:00 GMT", 60},
        {"Wed Oct 21 07:28:05 2015", 5},
        {"2015-10-21T07:28:10Z", 10},
        {"Wed, 21 Oct 2015 07:00:00 GMT", 0}, /* past */
        {"", NAN},
        {"soon", NAN},
        {"-5", NAN},
        {"nan", NAN},
        {"inf", NAN},
        {"1e300", NAN},
        {"5x", NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = kf_wait_parse(rows[i].text, WALL);
        if (!(got == rows[i].seconds || (isnan(got) && isnan(rows[i].seconds))))
            fail_msg("\"%s\": %g", rows[i].text, got);
    }
}

static double wait_of(const char *const *headers)
{
    kf_server_limits limits = kf_server_limits_none();
    for (; *headers; headers += 2) kf_server_limits_header(&limits, headers[0], headers[1], WALL);
    return kf_server_limits_wait(&limits);
}

static void servers_limits_are_understood(void **state)
{
    (void)state;
    assert_true(wait_of((const char *const[]){"retry-after", "12", NULL}) == 12);
    assert_true(
        wait_of((const char *const[]){"retry-after-ms", "1500", "retry-after", "2", NULL}) == 1.5);
    assert_true(wait_of((const char *const[]){"x-ratelimit-remaining-requests", "0",
                                              "x-ratelimit-reset-requests", "1m2s", NULL}) == 62);
    assert_true(wait_of((const char *const[]){"x-ratelimit-remaining-requests", "9",
                                              "x-ratelimit-reset-requests", "1m2s", NULL}) == 0);
    assert_true(wait_of((const char *const[]){"x-ratelimit-remaining-tokens", "0",
                                              "x-ratelimit-reset-tokens", "500ms", NULL}) == 0.5);
    assert_true(wait_of((const char *const[]){"anthropic-ratelimit-requests-remaining", "0",
                                              "anthropic-ratelimit-requests-reset",
                                              "2015-10-21T07:28:09Z", NULL}) == 9);
    assert_true(wait_of((const char *const[]){"content-type", "0", NULL}) == 0);
}

static void statuses_that_pass(void **state)
{
    (void)state;
    const int passing[] = {408, 409, 425, 429, 500, 502, 503, 504, 520, 529},
              lasting[] = {200, 301, 400, 401, 403, 404, 413, 422, 501, 505, 600};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        assert_true(kf_status_is_passing(passing[i]));
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        assert_false(kf_status_is_passing(lasting[i]));
}

static void backoff_doubles_to_a_minute(void **state)
{
    (void)state;
    assert_true(kf_backoff(0, 1, 0.5) == 0.5 && kf_backoff(3, 1, 0.5) == 4 &&
                kf_backoff(3, 0.5, 0.999) < 4);
    assert_true(kf_backoff(10, 1, 0.5) == 30 && kf_backoff(1000000, 1, 0.5) == 30 &&
                kf_backoff(4, 1, 0) == 0);
}

static void buckets_hold_back(void **state)
{
    (void)state;
    kf_bucket none = kf_bucket_new(0, 0);
    kf_bucket_take(&none, 1e9, 0);
    assert_true(kf_bucket_wait(&none, 0) == 0);
    kf_bucket b = kf_bucket_new(60, 100); /* one a second */
    for (int i = 0; i < 60; i++) {
        assert_true(kf_bucket_wait(&b, 100) == 0);
        kf_bucket_take(&b, 1, 100);
    }
    assert_true(fabs(kf_bucket_wait(&b, 100) - 1) < 1e-6);
    assert_true(kf_bucket_wait(&b, 101) == 0);
    kf_bucket_take(&b, 31, 101); /* debt is paid off */
    assert_true(fabs(kf_bucket_wait(&b, 101) - 31) < 1e-6);
    assert_true(kf_bucket_wait(&b, 132) == 0);
    /* An hour without requests fills it, but not more. */
    kf_bucket_wait(&b, 3700);
    kf_bucket_take(&b, 60, 3700);
    assert_true(kf_bucket_wait(&b, 3700) > 0.9);
}

static void the_breaker_opens_and_tries(void **state)
{
    (void)state;
    kf_breaker b = {0};
    for (int i = 0; i < KF_BREAKER_FAILURES; i++) {
        assert_true(kf_breaker_wait(&b, 10) == 0);
        kf_breaker_begin(&b);
        kf_breaker_end(&b, true, 10);
    }
    assert_true(kf_breaker_wait(&b, 10) == 15 && kf_breaker_wait(&b, 24) == 1);
    assert_true(kf_breaker_wait(&b, 25) == 0);
    kf_breaker_begin(&b);
    assert_true(kf_breaker_wait(&b, 25) > 0); /* one at a time */
    kf_breaker_end(&b, true, 26);
    assert_true(kf_breaker_wait(&b, 26) == 30);
    kf_breaker_begin(&b);
    kf_breaker_end(&b, false, 60);
    assert_true(kf_breaker_wait(&b, 60) == 0 && b.failures == 0);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_read),     cmocka_unit_test(servers_limits_are_understood),
        cmocka_unit_test(statuses_that_pass), cmocka_unit_test(backoff_doubles_to_a_minute),
        cmocka_unit_test(buckets_hold_back),  cmocka_unit_test(the_breaker_opens_and_tries),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
