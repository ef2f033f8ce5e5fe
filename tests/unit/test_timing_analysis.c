/* The analysis of timings changes no record, and gives the same figures each time.
 * test_timing_figures.c compares the figures with those of before, test_measure.c with the truth.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"

#include "timing_analysis.h"

#define PAIRS 12
#define CALLS 10

static void fill(kf_timing_record *record)
{
    const uint32_t calls[2] = {CALLS, CALLS};
    assert_true(kf_timing_record_reserve(record, 64));
    for (int i = 0; i < PAIRS; i++) {
        kf_pair_times times[2];
        for (int side = 0; side < 2; side++)
            times[side] = (kf_pair_times){.batch = (side ? 0.001 : 0.002) + 0.0002 + 1e-6 * (i % 3),
                                          .batch_waking = 50e-6 + 1e-6 * i,
                                          .single = (side ? 0.0003 : 0.0004) + 1e-6 * (i % 2),
                                          .single_waking = 40e-6,
                                          .priming = 0.001};
        kf_timing_record_add_pair(record, times, calls);
        kf_series_append(record, &record->empty, 0.0002 + 1e-7 * i, 1, 55e-6);
        kf_series_append(record, &record->solo, 0.0022 + 1e-6 * (i % 3), CALLS, 50e-6);
        for (int side = 0; side < 2; side++) kf_wakings_append(&record->wakings[side], 50e-6);
    }
    record->solo_calls = CALLS;
}

static void a_record_stays_as_it_is(void **state)
{
    (void)state;
    kf_timing_record record;
    kf_timing_calibration known = {.batch_bias = 5e-6, .separated = true};
    kf_figures first, again;
    kf_error error = {0};
    double batches[PAIRS], empty[PAIRS];
    fill(&record);
    memcpy(batches, record.batches[CANDIDATE].seconds, sizeof batches);
    memcpy(empty, record.empty.seconds, sizeof empty);
    assert_true(kf_timing_analyse(&record, &known, &first, &error));
    assert_true(kf_timing_analyse(&record, &known, &again, &error));
    assert_memory_equal(batches, record.batches[CANDIDATE].seconds, sizeof batches);
    assert_memory_equal(empty, record.empty.seconds, sizeof empty);
    assert_true(first.speedup.value == again.speedup.value && first.speedup.low > 1.9);
    assert_true(first.seconds[CANDIDATE] == again.seconds[CANDIDATE]);
    assert_true(!first.interference.suspected);
    kf_timing_record_free(&record);
}

static void a_full_series_ignores_samples(void **state)
{
    (void)state;
    kf_timing_record record;
    assert_true(kf_timing_record_reserve(&record, 2));
    for (int i = 0; i < 3; i++) kf_series_append(&record, &record.solo, 4, 2, i);
    assert_int_equal(record.solo.count, 2);
    assert_true(record.solo.seconds[1] == 2 && record.solo.waking[1] == 1);
    kf_timing_record_free(&record);
}

static void the_latest_wakings_are_kept(void **state)
{
    (void)state;
    kf_wakings wakings = {.count = 0};
    for (int i = 0; i <= KF_WAKINGS; i++) kf_wakings_append(&wakings, 100 - i);
    assert_true(wakings.count == KF_WAKINGS + 1 && wakings.quickest == 100 - KF_WAKINGS);
    assert_true(wakings.seconds[0] == 100 - KF_WAKINGS && wakings.seconds[1] == 99);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_stays_as_it_is),
        cmocka_unit_test(a_full_series_ignores_samples),
        cmocka_unit_test(the_latest_wakings_are_kept),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
