/* Statistics of paired timings: known values, and the coverage of the interval under the stopping
 * rule on simulated noise. */
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
#include "kforge/stats.h"

/* SplitMix64 (Steele, Lea, Flood 2014) and Box-Muller: enough for simulations, and the same on
 * every machine. */
static uint64_t random_state = 1;

static double uniform(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static void quantiles(void **state)
{
    (void)state;
    const double values[] = {7, 1, 3, 10};
    assert_true(kf_median(values, 4) == 5);
    assert_true(kf_quantile(values, 4, 0) == 1);
    assert_true(kf_quantile(values, 4, 1) == 10);
    /* R: quantile(c(7,1,3,10), 0.1, type=7) */
    assert_float_equal(kf_quantile(values, 4, 0.1), 1.6, 1e-12);
    assert_float_equal(kf_quantile(values, 4, 0.9), 9.1, 1e-12);
    assert_true(isnan(kf_median(NULL, 0)));
    assert_true(isnan(kf_quantile(values, 4, 1.5)));
    assert_true(isnan(kf_quantile(values, 4, (double)NAN)));
    const double infinite[] = {1, INFINITY, INFINITY};
    assert_true(kf_median(infinite, 3) == (double)INFINITY);
    assert_true(kf_quantile(infinite, 3, 0.75) == (double)INFINITY);
    const double with_nan[] = {1, NAN, 3};
    assert_true(isnan(kf_median(with_nan, 3)));
    assert_float_equal(kf_mad(values, 4), 1.4826 * 3, 1e-12); /* deviations 2 4 2 5 */
    assert_true(kf_mad((double[]){4, 4, 4}, 3) == 0);
}

/* Ranks of the 95 % interval as tabulated for the sign test (Conover, Practical Nonparametric
 * Statistics, Table A3). */
static void sign_test_ranks(void **state)
{
    (void)state;
    const struct {
        size_t count, rank;
    } rows[] = {{6, 1},  {8, 1},  {9, 2},   {10, 2},  {12, 3},   {15, 4},    {17, 5},
                {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}, {2000, 956}};
    static double values[2000];
    for (size_t i = 0; i < 2000; i++) values[i] = (double)(i + 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_interval interval = kf_median_interval(values, rows[i].count, 0.95);
        if (interval.low != (double)rows[i].rank ||
            interval.high != (double)(rows[i].count + 1 - rows[i].rank))
            fail_msg("n = %zu: [%g, %g], expected rank %zu", rows[i].count, interval.low,
                     interval.high, rows[i].rank);
    }
    for (size_t count = 1; count < 6; count++) {
        kf_interval few = kf_median_interval(values, count, 0.95);
        assert_true(few.value == (double)(count + 1) / 2 && isnan(few.low) && isnan(few.high));
    }
    assert_true(isnan(kf_median_interval(values, 0, 0.95).value));
}

static void speedups(void **state)
{
    (void)state;
    double baseline[10], candidate[10];
    for (int i = 0; i < 10; i++) baseline[i] = 3 + 0.01 * (i % 3), candidate[i] = 1.5;
    kf_interval speedup = kf_speedup(baseline, candidate, 10, 0.95);
    assert_true(speedup.low <= speedup.value && speedup.value <= speedup.high);
    assert_float_equal(speedup.value, 2.0, 0.02);
    candidate[3] = 0; /* the fixed cost took it all: one pair does not move the median */
    assert_float_equal(kf_speedup(baseline, candidate, 10, 0.95).value, 2.0, 0.02);
    baseline[3] = -1;
    assert_true(isnan(kf_speedup(baseline, candidate, 10, 0.95).value));
    assert_true(isnan(kf_speedup(baseline, candidate, 0, 0.95).value));

    /* 1/C - 1/B = 50/s: half a percent */
    kf_interval wide = kf_speedup_widen((kf_interval){2, 1.9, 2.1}, 0.02, 0.01, 0.0001);
    assert_float_equal(wide.low, 1.9 * 1.005 / 1.01, 1e-12);
    assert_float_equal(wide.high, 2.1 * 1.005, 1e-12);
    assert_true(isnan(kf_speedup_widen((kf_interval){2, 1.9, 2.1}, 0.02, 0, 0.0001).low));
    /* A cost that may be wrong by three times the candidate's batch hides no fortyfold speedup. */
    wide = kf_speedup_widen((kf_interval){40, 30, 50}, 0.04, 0.001, 0.003);
    assert_float_equal(wide.low, 30 * 1.075 / 4, 1e-12);
    /* A slower candidate's end is first order, and at least 0. */
    wide = kf_speedup_widen((kf_interval){0.5, 0.4, 0.6}, 0.01, 0.02, 0.0001);
    assert_float_equal(wide.low, 0.4 * 0.995, 1e-12);
    assert_true(kf_speedup_widen((kf_interval){0.5, 0.4, 0.6}, 0.01, 0.02, 1).low == 0);

    const kf_interval parts[] = {{2, 1.8, 2.2}, {8, 7.2, 8.8}};
    kf_interval mean = kf_speedup_combine(parts, 2);
    assert_float_equal(mean.value, 4, 1e-12);
    assert_float_equal(log(mean.value / mean.low), log(2 / 1.8) / sqrt(2), 1e-12);
    assert_float_equal(log(mean.high / mean.value), log(1.1) / sqrt(2), 1e-12);
    const kf_interval unknown[] = {{2, 1.8, 2.2}, {8, NAN, NAN}};
    mean = kf_speedup_combine(unknown, 2);
    assert_float_equal(mean.value, 4, 1e-12);
    assert_true(isnan(mean.low) && isnan(mean.high));
    assert_true(isnan(kf_speedup_combine(NULL, 0).value));
}

static void stops_when_it_should(void **state)
{
    (void)state;
    const kf_stopping_rule rule = {8, 400, 0.01, 10};
    const kf_interval narrow = {2, 1.99, 2.01}, wide = {2, 1.9, 2.1}, unknown = {NAN, NAN, NAN};
    assert_false(kf_stop_measuring(&rule, &narrow, 7, 1));
    assert_true(kf_stop_measuring(&rule, &narrow, 8, 1));
    assert_false(kf_stop_measuring(&rule, &narrow, 9, 1)); /* looks are rare */
    assert_true(kf_stop_measuring(&rule, &narrow, 10, 1));
    assert_false(kf_stop_measuring(&rule, &wide, 10, 1));
    assert_false(kf_stop_measuring(&rule, &unknown, 10, 1));
    assert_true(kf_stop_measuring(&rule, &wide, 9, 10));
    assert_true(kf_stop_measuring(&rule, &wide, 9, (double)NAN)); /* a broken clock ends it */
    assert_true(kf_stop_measuring(&rule, &unknown, 400, 1));
    int looks = 0;
    for (size_t pairs = 1; pairs <= 400; pairs++) looks += kf_stopping_look(&rule, pairs);
    assert_in_range(looks, 10, 20);
}

/* One simulated pair: candidate and baseline are the same program. */
typedef enum noise { NOISE_NORMAL, NOISE_SPIKES, NOISE_LOGNORMAL, NOISE_CORRELATED } noise;

typedef struct scenario {
    const char *name;
    noise kind;
    double size, correlation;
    double least_coverage; /* percent over 2000 runs; the standard error is 0.5 */
} scenario;

static bool run_covers(const scenario *s, size_t *pairs)
{
    const kf_stopping_rule rule = {8, 400, 0.01, 1e9};
    double baseline[400], candidate[400],
        drift = s->size * normal() / sqrt(1 - s->correlation * s->correlation);
    for (size_t n = 0;;) {
        double b = 0, c = 0;
        switch (s->kind) {
        case NOISE_NORMAL: b = s->size * normal(), c = s->size * normal(); break;
        case NOISE_SPIKES:
            b = s->size * normal() + (uniform() < 0.1 ? 0.3 * uniform() : 0);
            c = s->size * normal() + (uniform() < 0.1 ? 0.3 * uniform() : 0);
            break;
        case NOISE_LOGNORMAL:
            b = s->size * exp(1.2 * normal()), c = s->size * exp(1.2 * normal());
            break;
        case NOISE_CORRELATED: b = drift = s->correlation * drift + s->size * normal(); break;
        }
        baseline[n] = exp(b);
        candidate[n++] = exp(c);
        kf_interval speedup = {NAN, NAN, NAN};
        if (kf_stopping_look(&rule, n) || n == rule.most_pairs)
            speedup = kf_speedup(baseline, candidate, n, KF_TIMING_CONFIDENCE);
        if (!kf_stop_measuring(&rule, &speedup, n, 0)) continue;
        *pairs += n;
        return speedup.low <= 1 && speedup.high >= 1;
    }
}

static void coverage_survives_the_stopping_rule(void **state)
{
    (void)state;
    const scenario scenarios[] = {
        {"normal 1 %", NOISE_NORMAL, 0.01, 0, 95.5},
        {"normal 3 %", NOISE_NORMAL, 0.03, 0, 95.5},
        {"0.5 %, 10 % spikes", NOISE_SPIKES, 0.005, 0, 95.5},
        {"lognormal tail", NOISE_LOGNORMAL, 0.02, 0, 95.5},
        {"correlation 0.3", NOISE_CORRELATED, 0.02, 0.3, 93},
        {"correlation 0.5", NOISE_CORRELATED, 0.02, 0.5, 90},
    };
    const int runs = 2000;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        int covered = 0;
        size_t pairs = 0;
        for (int run = 0; run < runs; run++) covered += run_covers(&scenarios[i], &pairs);
        double coverage = 100.0 * covered / runs;
        print_message("A/A %-20s covered %.1f %%, %.0f pairs on average\n", scenarios[i].name,
                      coverage, (double)pairs / runs);
        if (coverage < scenarios[i].least_coverage)
            fail_msg("%s: %.1f %%, expected %.1f %%", scenarios[i].name, coverage,
                     scenarios[i].least_coverage);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles),
        cmocka_unit_test(sign_test_ranks),
        cmocka_unit_test(speedups),
        cmocka_unit_test(stops_when_it_should),
        cmocka_unit_test(coverage_survives_the_stopping_rule),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
