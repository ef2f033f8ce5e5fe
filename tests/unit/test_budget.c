/* Budgets: never overspent, nothing left reserved. */
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
#include "budget.h"

static uint64_t seed;

static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

#define REQUESTS 10000
#define FLYING 64

static void assert_within(const kf_budget *b)
{
    assert_true(b->spent.nanodollars + b->reserved.nanodollars <= b->limit.nanodollars);
    assert_true(b->spent.tokens + b->reserved.tokens <= b->limit.tokens);
    assert_true(b->spent.requests + b->reserved.requests <= b->limit.requests);
    assert_true(b->reserved.nanodollars >= 0 && b->reserved.tokens >= 0 &&
                b->reserved.requests >= 0);
}

/* 10,000 requests, 64 in flight: some fail and cost nothing, some break off and cost a part, some
 * are retried with a new reservation. */
static void many_requests_in_flight_never_overspend(void **state)
{
    (void)state;
    int granted_in_all = 0, waited = 0, refused = 0;
    for (uint64_t round = 1; round <= 20; round++) {
        seed = round * UINT64_C(0x9e3779b97f4a7c15);
        kf_budget b = {.limit = {kf_nanodollars(0.05 * (double)(chance() % 2000 + 1)),
                                 (int64_t)(chance() % 50000000), REQUESTS / 2 + 3000}};
        if (!b.limit.tokens) b.limit.tokens = 1;
        kf_amount flying[FLYING];
        int count = 0, spent_out = 0;
        kf_amount sum = {0};
        for (int i = 0; i < REQUESTS && spent_out < 50;) {
            bool full = count == FLYING;
            if (!full && chance() % 3) {
                kf_amount most = {(int64_t)(chance() % 200000000), (int64_t)(chance() % 20000), 1};
                kf_error error = {0};
                kf_budget_answer answer = kf_budget_reserve(&b, &most, &error);
                if (answer == KF_BUDGET_GRANTED) flying[count++] = most, granted_in_all++, i++;
                if (answer == KF_BUDGET_WAIT) {
                    waited++;
                    /* A request in flight has to settle. */
                    assert_true(count > 0);
                }
                if (answer == KF_BUDGET_SPENT) {
                    refused++;
                    spent_out++;
                    assert_int_equal(error.code, KF_ERROR_LIMIT);
                }
            } else if (count) {
                int which = (int)(chance() % (uint64_t)count);
                kf_amount most = flying[which], used = {0, 0, 1};
                switch (chance() % 4) {
                /* Failed before any charge. */
                case 0: break;
                case 1: used = most; break;
                default:
                    used.nanodollars = most.nanodollars
                                           ? (int64_t)(chance() % (uint64_t)(most.nanodollars + 1))
                                           : 0;
                    used.tokens =
                        most.tokens ? (int64_t)(chance() % (uint64_t)(most.tokens + 1)) : 0;
                }
                kf_budget_settle(&b, &most, &used);
                sum.nanodollars += used.nanodollars;
                sum.tokens += used.tokens;
                sum.requests += used.requests;
                flying[which] = flying[--count];
            }
            assert_within(&b);
        }
        while (count) {
            kf_amount used = {0, 0, 1};
            kf_budget_settle(&b, &flying[--count], &used);
            sum.requests++;
        }
        assert_within(&b);
        assert_true(b.reserved.nanodollars == 0 && b.reserved.tokens == 0 &&
                    b.reserved.requests == 0);
        assert_true(b.spent.nanodollars == sum.nanodollars && b.spent.tokens == sum.tokens &&
                    b.spent.requests == sum.requests);
    }
    /* All three answers were tested. */

    assert_true(granted_in_all > REQUESTS && waited > 100 && refused > 100);
}

static void answers_say_which_limit(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_budget free_of_limits = {0};
    kf_amount most = {1000000000, 1000, 1};
    for (int i = 0; i < 1000; i++)
        assert_int_equal(kf_budget_reserve(&free_of_limits, &most, &error), KF_BUDGET_GRANTED);
    kf_budget b = {.limit = {kf_nanodollars(1.5), 0, 0}};
    assert_int_equal(kf_budget_reserve(&b, &most, &error), KF_BUDGET_GRANTED);
    assert_int_equal(kf_budget_reserve(&b, &most, &error), KF_BUDGET_WAIT);
    kf_budget_settle(&b, &most, &(kf_amount){600000000, 10, 1});
    assert_int_equal(kf_budget_reserve(&b, &most, &error), KF_BUDGET_SPENT);
    assert_non_null(strstr(error.text, "may cost $1.0000, and $0.9000 of $1.5000 are left"));
    kf_budget t = {.limit = {0, 500, 0}};
    assert_int_equal(kf_budget_reserve(&t, &most, &error), KF_BUDGET_SPENT);
    assert_non_null(strstr(error.text, "may take 1000, and 500 of 500 are left"));
    kf_budget r = {.limit = {0, 0, 1}};
    assert_int_equal(kf_budget_reserve(&r, &most, &error), KF_BUDGET_GRANTED);
    kf_budget_settle(&r, &most, &most);
    assert_int_equal(kf_budget_reserve(&r, &most, &error), KF_BUDGET_SPENT);
    assert_non_null(strstr(error.text, "1 requests is spent"));
    /* A charge above the reservation, even an absurd one, is booked, and the budget stays closed.
     */
    kf_budget m = {.limit = {kf_nanodollars(3), 0, 0}};
    assert_int_equal(kf_budget_reserve(&m, &most, &error), KF_BUDGET_GRANTED);
    kf_budget_settle(&m, &most, &(kf_amount){INT64_MAX, INT64_MAX, 1});
    kf_budget_settle(&m, &(kf_amount){0}, &(kf_amount){INT64_MAX, INT64_MAX, 1});
    assert_int_equal(kf_budget_reserve(&m, &(kf_amount){1, 1, 1}, &error), KF_BUDGET_SPENT);
}

static void dollars_are_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(kf_nanodollars(0.1), 100000000);
    assert_int_equal(kf_nanodollars(1.25e-6 * 3), 3750);
    assert_int_equal(kf_nanodollars(1e-10), 1);
    assert_int_equal(kf_nanodollars(NAN), 0);
    assert_int_equal(kf_nanodollars(-1), 0);
    assert_int_equal(kf_nanodollars(1e30), INT64_MAX);
    assert_true(kf_dollars(kf_nanodollars(2.5)) == 2.5);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_requests_in_flight_never_overspend),
        cmocka_unit_test(answers_say_which_limit),
        cmocka_unit_test(dollars_are_rounded_up),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
