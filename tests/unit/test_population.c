/* The population: probabilities of draws against their formulas, and the order of members. */
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
#include "population.h"

#define DRAWS 20000

/* The 99.9 % quantile of chi-squared with k degrees of freedom (Wilson, Hilferty 1931). With fixed
 * seeds the test either always passes or never. */
static double limit(int k)
{
    double a = 2.0 / (9.0 * k);
    return k * pow(1 - a + 3.0902 * sqrt(a), 3);
}

static void check(const int *observed, const double *expected, int count, const char *what)
{
    double chi = 0;
    int freedom = -1;
    for (int i = 0; i < count; i++) {
        double wanted = expected[i] * DRAWS;
        if (wanted < 5) {
            assert_true(observed[i] < 30);
            continue;
        }
        chi += (observed[i] - wanted) * (observed[i] - wanted) / wanted;
        freedom++;
    }
    if (chi > limit(freedom))
        fail_msg("%s: chi-squared %.1f with %d degrees of freedom", what, chi, freedom);
}

static kf_population *make(int count)
{
    kf_population *p = kf_population_new();
    assert_non_null(p);
    /* Candidate 1 is the fastest. They are added in another order. */
    for (int i = 0; i < count; i++) {
        int which = (i * 7) % count;
        kf_member member = {
            .candidate = which + 1, .speedup = 4 - 0.2 * which, .island = which % 2};
        snprintf(member.cell, sizeof member.cell, "cell %d", which % 3);
        assert_true(kf_population_add(p, &member));
    }
    return p;
}

static void draw_all(const kf_population *p, const kf_choice *choice, const double *expected,
                     const char *what)
{
    int observed[16] = {0};
    kf_draws draws = {.state = 42};
    for (int i = 0; i < DRAWS; i++) {
        int64_t candidate = kf_population_draw(p, choice, &draws);
        assert_in_range(candidate, 1, 15);
        observed[candidate]++;
    }
    check(observed + 1, expected, 10, what);
}

static void parents_follow_their_formulas(void **state)
{
    (void)state;
    kf_auto(kf_population) p = make(10);
    double expected[10], sum = 0;
    for (int k = 0; k < 10; k++) expected[k] = k < 9 ? pow(2, -(k + 1)) : pow(2, -9);
    draw_all(p, &(kf_choice){.parents = KF_PARENTS_RANK, .island = -1}, expected, "rank");
    for (int k = 0; k < 10; k++) sum += pow(k + 1, -1.5);
    for (int k = 0; k < 10; k++) expected[k] = pow(k + 1, -1.5) / sum;
    draw_all(p, &(kf_choice){.parents = KF_PARENTS_POWER, .island = -1, .exponent = 1.5}, expected,
             "power");
    for (int k = 0; k < 10; k++) expected[k] = pow((10 - k) / 10.0, 3) - pow((9 - k) / 10.0, 3);
    draw_all(p, &(kf_choice){.parents = KF_PARENTS_TOURNAMENT, .island = -1, .size = 3}, expected,
             "tournament");
    for (int k = 0; k < 10; k++) expected[k] = 0.1;
    draw_all(p, &(kf_choice){.parents = KF_PARENTS_UNIFORM, .island = -1}, expected, "uniform");
    /* Candidates 1, 2 and 3 are the best of their cells. */
    for (int k = 0; k < 10; k++) expected[k] = k < 3 ? 1.0 / 3 : 0;
    draw_all(p, &(kf_choice){.parents = KF_PARENTS_GRID, .island = -1}, expected, "grid");
    for (int k = 0; k < 10; k++) expected[k] = k < 4 ? 0.25 : 0;
    draw_all(p, &(kf_choice){.parents = KF_PARENTS_UNIFORM, .island = -1, .beam = 4}, expected,
             "beam");
    for (int k = 0; k < 10; k++) expected[k] = k % 2 == 1 && k != 3 ? 0.25 : 0;
    draw_all(p, &(kf_choice){.parents = KF_PARENTS_UNIFORM, .island = 1, .not = 4}, expected,
             "island without one");
}

/* The choice of CUDA-L1: the sum over all orders of drawing two distinct buckets, then a member
 * of each. */
static void contrast_follows_its_formula(void **state)
{
    (void)state;
    /* buckets of an octave: {4}, {3.9, 2}, {1.95, 1.9, 1} */
    static const double speedups[] = {4, 3.9, 2, 1.95, 1.9, 1};
    kf_auto(kf_population) p = kf_population_new();
    for (int i = 0; i < 6; i++)
        assert_true(kf_population_add(
            p, &(kf_member){.candidate = i + 1, .speedup = speedups[i], .island = -1}));
    const double means[] = {2, (log2(3.9) + 1) / 2, (log2(1.95) + log2(1.9)) / 3};
    const double sizes[] = {1, 2, 3}, tau = 0.7;
    const int bucket_of[] = {0, 1, 1, 2, 2, 2};
    double weights[3], sum = 0, mu = (means[0] + means[1] + means[2]) / 3, pair[3][3] = {{0}};
    for (int i = 0; i < 3; i++) sum += weights[i] = exp((means[i] - mu) / tau);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (i != k)
                pair[i < k ? i : k][i < k ? k : i] +=
                    weights[i] / sum * weights[k] / (sum - weights[i]);
    double expected[36] = {0};
    int observed[36] = {0};
    for (int i = 0; i < 6; i++)
        for (int k = i + 1; k < 6; k++)
            expected[i * 6 + k] =
                pair[bucket_of[i]][bucket_of[k]] / sizes[bucket_of[i]] / sizes[bucket_of[k]];
    kf_draws draws = {.state = 7};
    for (int i = 0; i < DRAWS; i++) {
        int64_t drawn[4];
        assert_int_equal(kf_population_contrast(
                             p, &(kf_contrast){.tau = tau, .width = 1, .count = 2}, &draws, drawn),
                         2);
        assert_true(drawn[0] > drawn[1]); /* the slowest first */
        observed[(drawn[1] - 1) * 6 + drawn[0] - 1]++;
    }
    check(observed, expected, 36, "contrast");
    int64_t drawn[8];
    assert_int_equal(
        kf_population_contrast(p, &(kf_contrast){.tau = 1, .width = 1, .count = 8}, &draws, drawn),
        3);
    /* At a temperature near 0 only the fastest bucket is drawn. */
    assert_true(kf_population_contrast(p, &(kf_contrast){.tau = 1e-6, .width = 1, .count = 2},
                                       &draws, drawn) >= 1);
    kf_auto(kf_population) none = kf_population_new();
    assert_int_equal(kf_population_contrast(none, &(kf_contrast){.tau = 1, .width = 1, .count = 2},
                                            &draws, drawn),
                     0);
    assert_int_equal(kf_population_draw(none, &(kf_choice){.island = -1}, &draws), 0);
}

static void members_keep_their_order(void **state)
{
    (void)state;
    kf_auto(kf_population) p = kf_population_new();
    kf_draws draws = {.state = 3};
    for (int i = 1; i <= 5000; i++) {
        double speedup = floor(50 * kf_draw_fraction(&draws)) / 10 + 0.1; /* many equal ones */
        assert_true(kf_population_add(
            p,
            &(kf_member){.candidate = i * INT64_C(1000003), .speedup = speedup, .island = i % 4}));
        assert_true(kf_population_add(p, &(kf_member){.candidate = i * INT64_C(1000003),
                                                      .speedup = 100,
                                                      /* It stays the same. */
                                                      .island = 0}));
    }
    assert_int_equal(kf_population_size(p), 5000);
    for (int i = 1; i <= 5000; i += 3)
        kf_population_update(p, i * INT64_C(1000003), i % 2 ? 0.5 + i % 7 : NAN);
    size_t count = kf_population_size(p);
    assert_in_range(count, 4100, 4200);
    assert_null(kf_population_find(p, 5));
    assert_int_equal(kf_population_best(p, 2)->island, 2);
    /* The best leaves, and the next follows it. */
    kf_member before = {.speedup = INFINITY};
    for (; count > 0; count--) {
        kf_member best = *kf_population_best(p, -1);
        assert_true(before.speedup > best.speedup ||
                    (before.speedup >= best.speedup && before.candidate < best.candidate));
        kf_population_update(p, best.candidate, NAN);
        before = best;
    }
    assert_null(kf_population_best(p, -1));
}

static void failing_branches_end(void **state)
{
    (void)state;
    kf_auto(kf_population) p = make(3);
    kf_draws draws = {.state = 1};
    /* The best is never pruned. */
    for (int i = 0; i < 3; i++) kf_population_child(p, 1, false, 3);
    for (int i = 0; i < 3; i++) kf_population_child(p, 2, i == 1, 3);
    for (int i = 0; i < 3; i++) kf_population_child(p, 3, false, 3);
    assert_false(kf_population_find(p, 1)->pruned);
    assert_false(kf_population_find(p, 2)->pruned);
    assert_true(kf_population_find(p, 3)->pruned);
    for (int i = 0; i < 100; i++)
        assert_int_not_equal(
            kf_population_draw(p, &(kf_choice){.parents = KF_PARENTS_UNIFORM, .island = -1},
                               &draws),
            3);
    /* of an unknown parent */
    kf_population_child(p, 12345, false, 3);
}

static void the_best_travel(void **state)
{
    (void)state;
    kf_auto(kf_population) p = kf_population_new();
    for (int i = 0; i < 6; i++)
        assert_true(kf_population_add(
            p, &(kf_member){.candidate = i + 1, .speedup = 6 - i, .island = i % 3}));
    kf_choice choice = {.parents = KF_PARENTS_LATEST, .island = 1, .beam = 1};
    kf_draws draws = {.state = 1};
    assert_int_equal(kf_population_draw(p, &choice, &draws), 2);
    kf_population_migrate(p, 3); /* 1 to island 1, 2 to 2, 3 to 0 */
    assert_int_equal(kf_population_draw(p, &choice, &draws), 1);
    choice.island = 2;
    assert_int_equal(kf_population_draw(p, &choice, &draws), 2);
    choice.beam = 0;
    choice.island = 0;
    /* the latest of 1, 4 and the migrated 3 */
    assert_int_equal(kf_population_draw(p, &choice, &draws), 4);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_follow_their_formulas),
        cmocka_unit_test(contrast_follows_its_formula),
        cmocka_unit_test(members_keep_their_order),
        cmocka_unit_test(failing_branches_end),
        cmocka_unit_test(the_best_travel),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
