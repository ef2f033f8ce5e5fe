/* Rewards: figures worked out by hand from the formulas of the papers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/reward.h"

static double reward_of(kf_reward reward, kf_status status, double value, double low, double high)
{
    kf_blame blame = status == KF_CORRECT        ? KF_BLAME_NOBODY
                     : status == KF_INTERFERENCE ? KF_BLAME_MACHINE
                                                 : KF_BLAME_CANDIDATE;
    kf_reward_input input = {status, blame, {value, low, high}, false};
    return kf_reward_of(reward, &input);
}

static void close_to(double got, double expected)
{
    if (!(fabs(got - expected) < 1e-12)) fail_msg("got %.17g, expected %.17g", got, expected);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < KF_REWARD_COUNT; i++) {
        kf_reward parsed = KF_REWARD_COUNT;
        assert_true(kf_reward_parse(kf_reward_name((kf_reward)i), &parsed));
        assert_int_equal(parsed, i);
        assert_true(kf_reward_formula((kf_reward)i)[0]);
    }
    kf_reward parsed;
    assert_false(kf_reward_parse("kevln", &parsed));
}

static void test_correct(void **state)
{
    (void)state;
    close_to(reward_of(KF_REWARD_SPEEDUP, KF_CORRECT, 1.23456, 1.2, 1.3), 1.23456);
    close_to(reward_of(KF_REWARD_KEVIN, KF_CORRECT, 1.5, 1.4, 1.6), 1.8);
    close_to(reward_of(KF_REWARD_LOG, KF_CORRECT, 2, 1.9, 2.1), log(2));
    close_to(reward_of(KF_REWARD_LOG, KF_CORRECT, 0.5, 0.4, 0.6), -log(2));
    close_to(reward_of(KF_REWARD_LOG, KF_CORRECT, 0.01, 0.009, 0.011), log(0.1));
}

static void test_cuda_l1_rounds_towards_one(void **state)
{
    (void)state;
    close_to(reward_of(KF_REWARD_CUDA_L1, KF_CORRECT, 1.119, 1, 1.2), 1.11);
    close_to(reward_of(KF_REWARD_CUDA_L1, KF_CORRECT, 1.009, 1, 1.2), 1);
    close_to(reward_of(KF_REWARD_CUDA_L1, KF_CORRECT, 0.991, 0.9, 1), 1);
    close_to(reward_of(KF_REWARD_CUDA_L1, KF_CORRECT, 0.881, 0.8, 0.9), 0.89);
    /* 1.15 * 100 is 114.99999999999999 */
    close_to(reward_of(KF_REWARD_CUDA_L1, KF_CORRECT, 1.15, 1.1, 1.2), 1.15);
}

static void test_milestones_need_the_interval(void **state)
{
    (void)state;
    close_to(reward_of(KF_REWARD_MILESTONES, KF_CORRECT, 0.5, 0.4, 0.6), 1);
    close_to(reward_of(KF_REWARD_MILESTONES, KF_CORRECT, 1.2, 1.04, 1.3), 1);
    close_to(reward_of(KF_REWARD_MILESTONES, KF_CORRECT, 1.2, 1.06, 1.3), 2);
    close_to(reward_of(KF_REWARD_MILESTONES, KF_CORRECT, 2.2, 1.9, 2.3), 2);
    close_to(reward_of(KF_REWARD_MILESTONES, KF_CORRECT, 2.2, 2.1, 2.3), 3);
    close_to(reward_of(KF_REWARD_MILESTONES, KF_CORRECT, 3, NAN, NAN), 1);
    close_to(reward_of(KF_REWARD_MILESTONES, KF_CORRECT, NAN, NAN, NAN), 1);
}

static void test_failures(void **state)
{
    (void)state;
    static const kf_status own_fault[] = {
        KF_COMPILE_ERROR,      KF_CRASH,   KF_TIMEOUT, KF_WRONG_RESULT,
        KF_CONTRACT_VIOLATION, KF_CHEATING};
    for (size_t i = 0; i < sizeof own_fault / sizeof *own_fault; i++) {
        close_to(reward_of(KF_REWARD_SPEEDUP, own_fault[i], NAN, NAN, NAN), 0);
        close_to(reward_of(KF_REWARD_CUDA_L1, own_fault[i], NAN, NAN, NAN), 0);
        close_to(reward_of(KF_REWARD_KEVIN, own_fault[i], NAN, NAN, NAN), 0);
        close_to(reward_of(KF_REWARD_MILESTONES, own_fault[i], NAN, NAN, NAN), -1);
        close_to(reward_of(KF_REWARD_LOG, own_fault[i], NAN, NAN, NAN), log(0.1));
        /* A speedup that a failed one may carry along is worth nothing. */
        close_to(reward_of(KF_REWARD_KEVIN, own_fault[i], 50, 49, 51), 0);
    }
    for (int i = 0; i < KF_REWARD_COUNT; i++)
        assert_true(isnan(reward_of((kf_reward)i, KF_INTERFERENCE, NAN, NAN, NAN)));
}

static void test_significance(void **state)
{
    (void)state;
    kf_reward_input input = {KF_CORRECT, KF_BLAME_NOBODY, {1.1, 0.99, 1.2}, true};
    close_to(kf_reward_of(KF_REWARD_SPEEDUP, &input), 1);
    close_to(kf_reward_of(KF_REWARD_LOG, &input), 0);
    input.speedup.low = 1.01;
    close_to(kf_reward_of(KF_REWARD_SPEEDUP, &input), 1.1);
    input.speedup = (kf_interval){5, NAN, NAN};
    close_to(kf_reward_of(KF_REWARD_SPEEDUP, &input), 1);
}

static void test_advantages(void **state)
{
    (void)state;
    double rewards[] = {1, 2, NAN, 3}, advantages[4];
    kf_reward_advantages(rewards, 4, advantages);
    close_to(advantages[0], -sqrt(1.5));
    close_to(advantages[1], 0);
    assert_true(isnan(advantages[2]));
    close_to(advantages[3], sqrt(1.5));
    double equal[] = {0.1 + 0.2, 0.3, 0.3};
    kf_reward_advantages(equal, 3, equal);
    for (int i = 0; i < 3; i++) close_to(equal[i], 0);
    kf_reward_advantages(rewards, 1, advantages);
    close_to(advantages[0], 0);
    kf_reward_advantages(rewards + 2, 1, advantages);
    assert_true(isnan(advantages[0]));
    kf_reward_advantages(rewards, 0, advantages);
}

static void test_smooth(void **state)
{
    (void)state;
    double rewards[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 11}, smoothed[10];
    kf_reward_smooth(rewards, 10, KF_REWARD_CLIP, smoothed);
    close_to(smoothed[9], 1.5); /* 3 standard deviations above the mean */
    close_to(smoothed[0], -1.0 / 3);
}

static void test_returns(void **state)
{
    (void)state;
    double rewards[] = {0, 1.3, NAN, 2}, returns[4];
    kf_reward_returns(rewards, 4, KF_REWARD_DISCOUNT, returns);
    close_to(returns[3], 2);
    close_to(returns[2], 0.8);
    close_to(returns[1], 1.3 + 0.32);
    close_to(returns[0], 0.4 * 1.62);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_correct),
        cmocka_unit_test(test_cuda_l1_rounds_towards_one),
        cmocka_unit_test(test_milestones_need_the_interval),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_significance),
        cmocka_unit_test(test_advantages),
        cmocka_unit_test(test_smooth),
        cmocka_unit_test(test_returns),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
