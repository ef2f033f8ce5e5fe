/* Tests of the bandit: the order of first tries, the winner in the long run, the effect of cost and
 * weight, and repeatable results. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "bandit.h"

static const kf_bandit_rule rule = {.least_cost = 0.001};
static uint64_t seed;

static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static double fraction(void)
{
    return (double)(chance() >> 11) * 0x1p-53;
}

/* The formula of the header, by hand. */
static void the_index_is_the_documented_one(void **state)
{
    (void)state;
    kf_bandit_arm arms[] = {{.pulls = 4, .reward = 1, .cost = 0.02},
                            {.weight = 2, .pulls = 6, .reward = 1.5, .cost = 0.012, .flying = 2},
                            {.weight = 1}};
    kf_bandit_rule plain = {.exploration = 2, .discount = 1, .least_cost = 0.001};
    assert_true(fabs(kf_bandit_index(arms, 3, 0, &plain) -
                     fmin(1, 0.25 + sqrt(2 * log(12) / 4)) / 0.005) < 1e-9);
    plain.exploration = 0.1;
    assert_true(fabs(kf_bandit_index(arms, 3, 0, &plain) -
                     (0.25 + sqrt(0.1 * log(12) / 4)) / 0.005) < 1e-9);
    assert_true(fabs(kf_bandit_index(arms, 3, 1, &plain) -
                     2 * (0.25 + sqrt(0.1 * log(12) / 8)) / 0.002) < 1e-9);
    assert_true(isinf(kf_bandit_index(arms, 3, 2, &plain)));
    arms[1].cost = 0; /* free: what is around a pull still costs */
    assert_true(fabs(kf_bandit_index(arms, 3, 1, &plain) -
                     2 * (0.25 + sqrt(0.1 * log(12) / 8)) / 0.001) < 1e-9);
}

static void each_is_tried_first_the_heaviest_before(void **state)
{
    (void)state;
    kf_bandit_arm arms[4] = {
        {.weight = 1}, {.weight = 3}, {.weight = 2}, {.weight = 9, .closed = true}};
    static const int expected[] = {1, 2, 0};
    for (size_t i = 0; i < 3; i++) {
        int chosen = kf_bandit_choose(arms, 4, &rule, chance());
        assert_int_equal(chosen, expected[i]);
        arms[chosen].flying++;
    }
    for (size_t i = 0; i < 3; i++) arms[i].closed = true;
    assert_int_equal(kf_bandit_choose(arms, 4, &rule, 0), -1);
    assert_int_equal(kf_bandit_choose(arms, 0, &rule, 0), -1);
}

/* Plays `rounds` rounds and counts how often each arm was chosen in the second half. */
static void play(kf_bandit_arm *arms, const double *good, const double *cost, size_t count,
                 int rounds, int *late)
{
    for (int i = 0; i < rounds; i++) {
        int chosen = kf_bandit_choose(arms, count, &rule, chance());
        assert_true(chosen >= 0);
        if (i >= rounds / 2) late[chosen]++;
        kf_bandit_result(arms, count, (size_t)chosen, fraction() < good[chosen] ? 1 : 0,
                         cost[chosen], &rule);
    }
}

static void the_better_one_wins_at_equal_cost(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 20; round++) {
        kf_bandit_arm arms[2] = {{.weight = 1}, {.weight = 1}};
        int late[2] = {0};
        seed = round * UINT64_C(0x9e3779b97f4a7c15);
        play(arms, (const double[]){0.2, 0.8}, (const double[]){0.01, 0.01}, 2, 400, late);
        assert_true(late[1] > 130);
    }
}

static void reward_counts_by_the_dollar(void **state)
{
    (void)state;
    seed = 7;
    kf_bandit_arm arms[2] = {{.weight = 1}, {.weight = 1}};
    int late[2] = {0};
    /* Half as good at a tenth of the cost. */
    play(arms, (const double[]){0.8, 0.4}, (const double[]){0.10, 0.01}, 2, 400, late);
    assert_true(late[1] > 150);
    /* A weight of 40 turns it round. */
    kf_bandit_arm weighted[2] = {{.weight = 40}, {.weight = 1}};
    memset(late, 0, sizeof late);
    play(weighted, (const double[]){0.8, 0.4}, (const double[]){0.10, 0.01}, 2, 400, late);
    assert_true(late[0] > 150);
}

static void old_results_fade(void **state)
{
    (void)state;
    seed = 11;
    kf_bandit_arm arms[2] = {{.weight = 1}, {.weight = 1}};
    int late[2] = {0};
    play(arms, (const double[]){0.9, 0.1}, (const double[]){0.01, 0.01}, 2, 300, late);
    assert_true(late[0] > 100);
    memset(late, 0, sizeof late);
    play(arms, (const double[]){0.1, 0.9}, (const double[]){0.01, 0.01}, 2, 400, late);
    assert_true(late[1] > 130);
    assert_true(arms[0].pulls + arms[1].pulls < 1 / (1 - KF_BANDIT_DISCOUNT) + 1e-9);
}

static void many_at_once_are_spread(void **state)
{
    (void)state;
    kf_bandit_arm arms[3] = {{.pulls = 5, .reward = 2.5, .cost = 0.05},
                             {.pulls = 5, .reward = 2.4, .cost = 0.05},
                             {.pulls = 5, .reward = 2.4, .cost = 0.05}};
    for (int i = 0; i < 30; i++) arms[kf_bandit_choose(arms, 3, &rule, chance())].flying++;
    for (int i = 0; i < 3; i++) assert_true(arms[i].flying >= 5);
}

static void it_repeats_itself_and_goes_on(void **state)
{
    (void)state;
    kf_bandit_arm arms[3] = {{.weight = 1}, {.weight = 1}, {.weight = 1}}, saved[3];
    int first[200], again[100];
    uint64_t then = 0;
    seed = 5;
    for (int i = 0; i < 200; i++) {
        if (i == 100) memcpy(saved, arms, sizeof arms), then = seed;
        first[i] = kf_bandit_choose(arms, 3, &rule, chance());
        kf_bandit_result(arms, 3, (size_t)first[i], fraction() * (0.2 + 0.2 * first[i]), 0.01,
                         &rule);
    }
    seed = then;
    for (int i = 0; i < 100; i++) {
        again[i] = kf_bandit_choose(saved, 3, &rule, chance());
        kf_bandit_result(saved, 3, (size_t)again[i], fraction() * (0.2 + 0.2 * again[i]), 0.01,
                         &rule);
    }
    assert_memory_equal(first + 100, again, sizeof again);
}

/* Equal arms are chosen equally often, by chance alone. */
static void equals_are_told_apart_by_chance(void **state)
{
    (void)state;
    kf_bandit_arm arms[4] = {{.weight = 1}, {.weight = 1}, {.weight = 1}, {.weight = 1}};
    int counts[4] = {0};
    seed = 3;
    for (int i = 0; i < 4000; i++) counts[kf_bandit_choose(arms, 4, &rule, chance())]++;
    for (int i = 0; i < 4; i++) assert_in_range(counts[i], 850, 1150);
}

static void odd_numbers_do_no_harm(void **state)
{
    (void)state;
    kf_bandit_arm arms[2] = {{.weight = NAN}, {.weight = -3}};
    kf_bandit_result(arms, 2, 0, NAN, NAN, &rule);
    kf_bandit_result(arms, 2, 1, 99, INFINITY, &rule);
    assert_true(arms[0].reward == 0 && arms[0].cost == 0 && arms[1].reward == 1 &&
                arms[1].cost == 0);
    assert_true(isfinite(kf_bandit_index(arms, 2, 0, &rule)) &&
                isfinite(kf_bandit_index(arms, 2, 1, &rule)));
    assert_int_equal(kf_bandit_choose(arms, 2, &rule, 1), 1);
}

static void shares_follow_the_weights(void **state)
{
    (void)state;
    kf_bandit_arm arms[3] = {{.weight = 1}, {.weight = 2}, {.weight = 1}};
    int64_t taken[3] = {0};
    for (int i = 0; i < 40; i++) {
        int chosen = kf_bandit_share(arms, taken, 3);
        taken[chosen]++;
    }
    assert_true(taken[0] == 10 && taken[1] == 20 && taken[2] == 10);
    arms[1].flying = 20;
    assert_int_equal(kf_bandit_share(arms, taken, 3), 0);
    arms[0].closed = arms[1].closed = arms[2].closed = true;
    assert_int_equal(kf_bandit_share(arms, taken, 3), -1);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_is_the_documented_one),
        cmocka_unit_test(each_is_tried_first_the_heaviest_before),
        cmocka_unit_test(the_better_one_wins_at_equal_cost),
        cmocka_unit_test(reward_counts_by_the_dollar),
        cmocka_unit_test(old_results_fade),
        cmocka_unit_test(many_at_once_are_spread),
        cmocka_unit_test(it_repeats_itself_and_goes_on),
        cmocka_unit_test(equals_are_told_apart_by_chance),
        cmocka_unit_test(odd_numbers_do_no_harm),
        cmocka_unit_test(shares_follow_the_weights),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
