/* Scores against values worked out by hand and against independent computations: all subsets for
 * pass@k, all resamples for the bootstrap. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/score.h"
#include "sol_score.h"

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof *(ARRAY))

static void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%.17g, expected %.17g", got, expected);
}

static kf_score_sample correct(double speedup)
{
    return kf_score_of(KF_CORRECT, KF_BLAME_NOBODY, speedup);
}

static void samples_are_classed(void **state)
{
    (void)state;
    kf_score_sample s = kf_score_of(KF_COMPILE_ERROR, KF_BLAME_CANDIDATE, NAN);
    assert_true(s.counts && !s.compiled && !s.correct);
    s = kf_score_of(KF_WRONG_RESULT, KF_BLAME_CANDIDATE, 9);
    assert_true(s.counts && s.compiled && !s.correct && isnan(s.speedup));
    s = kf_score_of(KF_CHEATING, KF_BLAME_CANDIDATE, 9);
    assert_true(s.counts && s.compiled && !s.correct && s.cheating);
    s = kf_score_of(KF_IMPOSSIBLE, KF_BLAME_CANDIDATE, 9);
    assert_true(s.counts && !s.correct && !s.cheating);
    s = kf_score_of(KF_INTERFERENCE, KF_BLAME_MACHINE, NAN);
    assert_false(s.counts);
    s = kf_score_of(KF_JUDGE_ERROR, KF_BLAME_JUDGE, NAN);
    assert_false(s.counts);
    s = correct(1.5);
    assert_true(s.counts && s.compiled && s.correct);
    near(s.speedup, 1.5, 0);
    s = kf_score_no_candidate();
    assert_true(s.counts && !s.compiled);
}

/* How many of the k-subsets of n samples, the first c of which are good, hold a good one. */
static double pass_by_subsets(unsigned n, unsigned c, unsigned k)
{
    unsigned all = 0, good = 0;
    for (unsigned set = 0; set < 1u << n; set++) {
        if ((unsigned)__builtin_popcount(set) != k) continue;
        all++;
        good += (set & ((1u << c) - 1)) != 0;
    }
    return (double)good / all;
}

static void pass_at_k_is_the_share_of_subsets(void **state)
{
    (void)state;
    near(kf_score_pass_at(5, 2, 1), 0.4, 1e-15);
    near(kf_score_pass_at(5, 2, 2), 0.7, 1e-15); /* 1 - C(3,2)/C(5,2) = 1 - 3/10 */
    near(kf_score_pass_at(10, 3, 5), 1 - 21.0 / 252, 1e-15);
    for (unsigned n = 1; n <= 12; n++)
        for (unsigned c = 0; c <= n; c++)
            for (unsigned k = 1; k <= n; k++)
                near(kf_score_pass_at(n, c, k), pass_by_subsets(n, c, k), 1e-12);
    near(kf_score_pass_at(0, 0, 1), 0, 0);
    near(kf_score_pass_at(2, 1, 5), 1, 0);
    near(kf_score_pass_at(100000, 1, 1), 1e-5, 1e-12); /* two binomials would overflow */
}

/* Four problems by hand. The first is solved at 2 and 0.5. The second is wrong, then correct at 1
 * (and a cheat). The third never compiles. The fourth could not be judged. */
static void a_suite_by_hand(void **state)
{
    (void)state;
    kf_score_sample a[] = {correct(0.5), correct(2)};
    kf_score_sample b[] = {kf_score_of(KF_WRONG_RESULT, KF_BLAME_CANDIDATE, NAN), correct(1),
                           kf_score_of(KF_CHEATING, KF_BLAME_CANDIDATE, NAN)};
    kf_score_sample c[] = {kf_score_of(KF_COMPILE_ERROR, KF_BLAME_CANDIDATE, NAN),
                           kf_score_no_candidate()};
    kf_score_sample d[] = {kf_score_of(KF_OUT_OF_MEMORY, KF_BLAME_MACHINE, NAN)};
    kf_score_problem problems[] = {{a, 2}, {b, 3}, {c, 2}, {d, 1}};
    kf_score score = kf_score_suite(problems, 4, NULL);
    assert_int_equal(score.problems, 4);
    assert_int_equal(score.solved, 2);
    assert_int_equal(score.faster, 1);
    assert_int_equal(score.samples, 7);
    assert_int_equal(score.voided, 1);
    assert_int_equal(score.least_samples, 0);
    near(score.compile_rate.value, 5.0 / 7, 1e-15);
    near(score.correct_rate.value, 3.0 / 7, 1e-15);
    near(score.cheat_rate.value, 1.0 / 7, 1e-15);
    near(score.geometric_mean.value, sqrt(2.0), 1e-15); /* of 2 and 1 */
    near(score.median.value, 1.5, 1e-15);
    /* One sample: of a half of the samples, of b a third. */
    /* strictly faster: b's 1.0 is not */
    near(kf_score_fast(problems, 4, 1, 1, NULL).value, 0.5 / 4, 1e-15);
    near(kf_score_fast(problems, 4, 0.999, 1, NULL).value, (0.5 + 1.0 / 3) / 4, 1e-15);
    near(kf_score_fast(problems, 4, 0, 1, NULL).value, (1 + 1.0 / 3) / 4, 1e-15);
    near(kf_score_fast(problems, 4, 2, 1, NULL).value, 0, 0);
    near(kf_score_pass(problems, 4, 2, NULL).value, (1 + 2.0 / 3) / 4, 1e-15);
    size_t which = 9;
    near(kf_score_best(&problems[0], &which), 2, 0);
    assert_int_equal(which, 1);
    assert_true(isnan(kf_score_best(&problems[2], NULL)));
}

static void no_problems_no_figures(void **state)
{
    (void)state;
    kf_score score = kf_score_suite(NULL, 0, NULL);
    assert_true(isnan(score.compile_rate.value) && isnan(score.geometric_mean.value));
    assert_true(isnan(kf_score_fast(NULL, 0, 1, 1, NULL).value));
    kf_score_sample one = correct(3);
    kf_score_problem problem = {&one, 1};
    score = kf_score_suite(&problem, 1, NULL);
    near(score.geometric_mean.value, 3, 1e-15);
    /* one problem shows no spread */
    assert_true(isnan(score.geometric_mean.low) && isnan(score.geometric_mean.high));
    /* Correct without a time: solved, and at no speedup. */
    one = correct(NAN);
    assert_int_equal(kf_score_suite(&problem, 1, NULL).solved, 1);
    near(kf_score_fast(&problem, 1, 0, 1, NULL).value, 1, 0);
    near(kf_score_fast(&problem, 1, 0.1, 1, NULL).value, 0, 0);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All 5^5 resamples of five values instead of drawn ones. */
static void the_bootstrap_comes_to_all_resamples(void **state)
{
    (void)state;
    const double values[] = {0.1, 0.7, 0.4, 1.9, 1.2};
    double means[3125];
    for (unsigned r = 0; r < 3125; r++) {
        double sum = 0;
        for (unsigned i = 0, rest = r; i < 5; i++, rest /= 5) sum += values[rest % 5];
        means[r] = sum / 5;
    }
    qsort(means, 3125, sizeof *means, by_size);
    kf_interval got = kf_score_mean(values, 5, &(kf_score_options){.resamples = 200000, .seed = 3});
    near(got.value, 0.86, 1e-15);
    /* the means are 0.02 apart or less there */
    near(got.low, means[(size_t)(0.025 * 3124)], 0.021);
    near(got.high, means[(size_t)(0.975 * 3124)], 0.021);
}

/* Against the normal approximation, where that holds. */
static void the_bootstrap_agrees_with_theory(void **state)
{
    (void)state;
    double values[400], sum = 0, squares = 0;
    /* even on [0, 1) */
    for (size_t i = 0; i < COUNT(values); i++) values[i] = fmod((double)i * 0.6180339887498949, 1);
    for (size_t i = 0; i < COUNT(values); i++) sum += values[i], squares += values[i] * values[i];
    double mean = sum / COUNT(values),
           deviation = sqrt(squares / COUNT(values) - mean * mean) / sqrt((double)COUNT(values));
    kf_interval got =
        kf_score_mean(values, COUNT(values), &(kf_score_options){.resamples = 20000, .seed = 1});
    near(got.value, mean, 1e-12);
    near(got.low, mean - 1.96 * deviation, 0.1 * deviation);
    near(got.high, mean + 1.96 * deviation, 0.1 * deviation);
}

/* A report had fast_0.5 25 % [0, 50] and fast_0.8 0 % [0, 84.2]. */
static void a_stricter_threshold_has_no_higher_limit(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int suite = 0; suite < 40; suite++) {
        kf_score_sample samples[24];
        kf_score_problem problems[12];
        size_t count = 2 + (size_t)suite % 11, each = 1 + (size_t)suite % 2;
        for (size_t i = 0; i < count * each; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            samples[i] = random >> 62 ? correct((double)(random >> 40 & 0xff) / 100)
                                      : kf_score_of(KF_WRONG_RESULT, KF_BLAME_CANDIDATE, NAN);
        }
        for (size_t i = 0; i < count; i++)
            problems[i] = (kf_score_problem){&samples[i * each], each};
        kf_interval last = {1, 1, 1};
        for (int p = 0; p <= 300; p++) {
            kf_interval now = kf_score_fast(problems, count, p / 100.0, 1, NULL);
            if (now.low > last.low || now.high > last.high || now.value > last.value ||
                now.low > now.value || now.high < now.value)
                fail_msg("suite %d, p %g: %g [%g, %g] after %g [%g, %g]", suite, p / 100.0,
                         now.value, now.low, now.high, last.value, last.low, last.high);
            last = now;
        }
    }
}

/* More cheats, two samples a problem: the limits never fall. */
static void a_higher_rate_has_no_lower_limit(void **state)
{
    (void)state;
    kf_score_sample samples[12];
    kf_score_problem problems[6];
    kf_interval last = {0, 0, 0};
    for (int i = 0; i < 12; i++) samples[i] = correct(2);
    for (int i = 0; i < 6; i++) problems[i] = (kf_score_problem){&samples[2 * i], 2};
    for (int cheats = 0; cheats <= 12; cheats++) {
        kf_interval rate = kf_score_suite(problems, 6, NULL).cheat_rate;
        assert_true(rate.high >= last.high && rate.low >= last.low);
        assert_true(rate.low <= rate.value && rate.value <= rate.high);
        last = rate;
        if (cheats < 12)
            samples[cheats % 6 * 2 + cheats / 6] =
                kf_score_of(KF_CHEATING, KF_BLAME_CANDIDATE, NAN);
    }
}

/* Returns the chance of at least `least` successes in n trials. */
static double tail_of(size_t n, size_t least, double share)
{
    double sum = 0;
    for (size_t k = least; k <= n; k++) {
        double ways = 1;
        for (size_t i = 0; i < k; i++) ways *= (double)(n - i) / (double)(k - i);
        sum += ways * pow(share, (double)k) * pow(1 - share, (double)(n - k));
    }
    return sum;
}

/* By definition: at the lower end as many successes or more have a chance of 2.5 %, at the upper
 * end as many or fewer. */
static void shares_have_exact_intervals(void **state)
{
    (void)state;
    kf_score_sample samples[60];
    kf_score_problem problems[60];
    for (size_t n = 2; n <= 60; n += 1 + n / 4)
        for (size_t solved = 0; solved <= n; solved++) {
            for (size_t i = 0; i < n; i++) {
                samples[i] =
                    i < solved ? correct(2) : kf_score_of(KF_WRONG_RESULT, KF_BLAME_CANDIDATE, NAN);
                problems[i] = (kf_score_problem){&samples[i], 1};
            }
            kf_interval share = kf_score_fast(problems, n, 1, 1, NULL);
            near(share.value, (double)solved / (double)n, 1e-15);
            if (solved) near(tail_of(n, solved, share.low), 0.025, 1e-9);
            if (solved < n) near(tail_of(n, solved + 1, share.high), 0.975, 1e-9);
            kf_interval rate = kf_score_suite(problems, n, NULL).correct_rate;
            assert_true(rate.low == share.low && rate.high == share.high);
        }
}

/* A bootstrap of equal values has no width, so the exact interval stands there. */
static void all_and_nothing_have_an_interval(void **state)
{
    (void)state;
    kf_score_sample samples[12];
    kf_score_problem problems[12];
    for (int i = 0; i < 12; i++) {
        samples[i] = (kf_score_sample){.counts = true, .compiled = true, .speedup = NAN};
        problems[i] = (kf_score_problem){&samples[i], 1};
    }
    kf_score score = kf_score_suite(problems, 12, NULL);
    /* 1 - 0.025^(1/12) */
    near(score.cheat_rate.low, 0, 0);
    near(score.cheat_rate.high, 0.264648, 1e-6);
    near(score.compile_rate.low, 1 - 0.264648, 1e-6);
    near(score.compile_rate.high, 1, 0);
    near(kf_score_fast(problems, 12, 1, 1, NULL).high, 0.264648, 1e-6);
    near(kf_score_fast(problems, 3, 1, 1, NULL).high, 1 - cbrt(0.025), 1e-9);
    /* One problem has no interval. */
    assert_true(isnan(kf_score_fast(problems, 1, 1, 1, NULL).high));
    samples[0].cheating = true;
    score = kf_score_suite(problems, 12, NULL);
    /* one more cheat, no lower limit */
    assert_true(score.cheat_rate.low > 0 && score.cheat_rate.low < 1.0 / 12);
    assert_true(score.cheat_rate.high > 0.264648 && score.cheat_rate.high < 0.5);
}

static void seeds_decide(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3, 5, 8, 13, 21};
    kf_interval a = kf_score_mean(values, COUNT(values), &(kf_score_options){.seed = 7});
    kf_interval b = kf_score_mean(values, COUNT(values), &(kf_score_options){.seed = 7});
    kf_interval c = kf_score_mean(values, COUNT(values), &(kf_score_options){.seed = 8});
    assert_true(a.low == b.low && a.high == b.high);
    assert_true(a.low != c.low || a.high != c.high);
    assert_true(a.low < a.value && a.value < a.high);
    kf_interval narrow =
        kf_score_mean(values, COUNT(values), &(kf_score_options){.seed = 7, .confidence = 0.5});
    assert_true(narrow.low > a.low && narrow.high < a.high);
}

static void pairs_are_compared(void **state)
{
    (void)state;
    const double before[] = {1, 2, NAN, 4, 1}, after[] = {2, 4, 3, NAN, 2};
    size_t used;
    kf_interval ratio = kf_score_ratio(before, after, COUNT(before), NULL, &used);
    assert_int_equal(used, 3);
    near(ratio.value, 2, 1e-12);
    near(ratio.low, 2, 1e-12); /* each pair says the same */
    near(ratio.high, 2, 1e-12);
    ratio = kf_score_ratio(before, after, 0, NULL, &used);
    assert_true(used == 0 && isnan(ratio.value));
}

/* By hand: a baseline of 10 and a limit of 2 leave a gap of 8. A candidate of 10 is one gap away
 * (1/2), of 6 half a gap (2/3), of 2 none (1), of 18 two gaps (1/3). */
static void the_sol_score_by_hand(void **state)
{
    (void)state;
    near(kf_sol_score(10, 10, 2), 0.5, 1e-15);
    near(kf_sol_score(6, 10, 2), 2.0 / 3, 1e-15);
    near(kf_sol_score(2, 10, 2), 1, 1e-15);
    near(kf_sol_score(18, 10, 2), 1.0 / 3, 1e-15);
    near(kf_sol_score(1, 10, 2), 1, 1e-15); /* below the limit is no more than at it */
    near(kf_sol_score(2, 2, 2), 1, 1e-15);  /* a baseline at the limit */
    near(kf_sol_score(3, 2, 2), 0, 1e-15);
    near(kf_sol_score(1, 1, 2), 1, 1e-15);
    assert_true(isnan(kf_sol_score(0, 10, 2)) && isnan(kf_sol_score(NAN, 10, 2)) &&
                isnan(kf_sol_score(1, 0, 2)) && isnan(kf_sol_score(1, 10, -1)) &&
                isnan(kf_sol_score(1, 10, NAN)));
}

/* The candidate takes 5 of the baseline's 10 (speedup 2): 1 / (1 + 3/8) = 8/11. The ends of the
 * interval 1 and 5 are the times 10 and 2: 1/2 and 1. */
static void a_sol_score_has_an_interval(void **state)
{
    (void)state;
    kf_workload_verdict rows[] = {{.status = KF_CORRECT,
                                   .timed = true,
                                   .speedup = {2, 1, 5},
                                   .baseline_seconds = 10,
                                   .floor_seconds = 2},
                                  {.status = KF_CORRECT,
                                   .timed = true,
                                   .speedup = {1, 0, INFINITY},
                                   .baseline_seconds = 10,
                                   .floor_seconds = 2},
                                  {.status = KF_CORRECT, .timed = false}};
    kf_interval s = kf_sol_score_workload(&rows[0]);
    near(s.value, 8.0 / 11, 1e-15);
    near(s.low, 0.5, 1e-15);
    near(s.high, 1, 1e-15);
    kf_verdict verdict = {.status = KF_CORRECT, .workloads = rows, .workload_count = 3};
    s = kf_sol_score_verdict(&verdict);
    near(s.value, (8.0 / 11 + 0.5) / 2, 1e-15);
    near(s.low, 0.25, 1e-15);
    near(s.high, 1, 1e-15);
    verdict.status = KF_WRONG_RESULT;
    assert_true(isnan(kf_sol_score_verdict(&verdict).value));
    verdict.status = KF_CORRECT;
    rows[1].floor_seconds = 0;
    assert_true(isnan(kf_sol_score_verdict(&verdict).value));
    verdict.workloads = &rows[2], verdict.workload_count = 1;
    assert_true(isnan(kf_sol_score_verdict(&verdict).value));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_classed),
        cmocka_unit_test(pass_at_k_is_the_share_of_subsets),
        cmocka_unit_test(a_suite_by_hand),
        cmocka_unit_test(no_problems_no_figures),
        cmocka_unit_test(the_bootstrap_comes_to_all_resamples),
        cmocka_unit_test(the_bootstrap_agrees_with_theory),
        cmocka_unit_test(a_stricter_threshold_has_no_higher_limit),
        cmocka_unit_test(a_higher_rate_has_no_lower_limit),
        cmocka_unit_test(shares_have_exact_intervals),
        cmocka_unit_test(all_and_nothing_have_an_interval),
        cmocka_unit_test(seeds_decide),
        cmocka_unit_test(pairs_are_compared),
        cmocka_unit_test(the_sol_score_by_hand),
        cmocka_unit_test(a_sol_score_has_an_interval),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
