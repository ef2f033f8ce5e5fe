/* The schedule of batches and pairs, from made-up seconds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_main.h"

#include "schedule.h"

static const kf_set_limits limits = {.least = KF_MIN_SETS, .room = 10000, .most = 1024};

static kf_schedule started(bool timed)
{
    return (kf_schedule){.rule = {.half_width = 0.01, .seconds = 1},
                         .half_width = 0.01,
                         .batch_length = 0.003,
                         .empty_batch = 0.0002,
                         .timed = timed};
}

/* Calls of 0.1 ms on sets that cost little. */
static kf_schedule sized(void)
{
    kf_schedule s = started(true);
    const kf_schedule_probe probe = {.sets = 3, .filling = 3e-5, .around = 3e-5, .truth = 1e-5};
    kf_schedule_set_call(&s, 100e-6, 3);
    uint32_t sets = kf_schedule_size_batches(&s, &probe, &limits);
    assert_true(sets > s.calls[0]);
    return s;
}

static void a_checked_workload_has_three_pairs(void **state)
{
    (void)state;
    kf_schedule s = started(false);
    kf_pair_plan plan;
    kf_schedule_begin_pairs(&s);
    for (int i = 0; i < 3; i++) {
        assert_true(kf_schedule_next(&s, &plan));
        assert_true(plan.number == i && !plan.timed && !plan.latency && plan.baseline_compared);
        assert_int_equal(kf_schedule_empty_batches(&plan, 0), 0);
    }
    assert_false(kf_schedule_next(&s, &plan));
}

static void pairs_alternate_after_the_first_two(void **state)
{
    (void)state;
    kf_schedule s = started(true);
    kf_pair_plan plan;
    kf_schedule_begin_pairs(&s);
    for (int i = 0; i < 12; i++) {
        assert_true(kf_schedule_next(&s, &plan));
        assert_int_equal(plan.serial, i);
        assert_int_equal(plan.timed, i > 0);
        assert_int_equal(plan.candidate_first, i >= 2 && i % 2);
        assert_int_equal(plan.baseline_compared, i < 2);
        assert_int_equal(plan.latency, i >= 1 && i <= 8);
    }
    assert_int_equal(kf_schedule_empty_batches(&plan, 0), 4);
    assert_int_equal(kf_schedule_empty_batches(&plan, 34), 2);
    assert_int_equal(kf_schedule_empty_batches(&plan, 36), 0);
}

static void batches_get_the_length_asked_for(void **state)
{
    (void)state;
    kf_schedule s = sized();
    assert_int_equal(s.calls[0], 30);
    assert_int_equal(s.calls[1], 30);
    /* all sets together showed that a call takes twice as long: half as many are enough */
    kf_schedule_shorten(&s, 0.0002 + 30 * 200e-6);
    assert_int_equal(s.calls[0], 15);
    kf_schedule_shorten(&s, INFINITY);
    assert_int_equal(s.calls[0], 15);
}

static void memory_limits_the_sets(void **state)
{
    (void)state;
    const kf_set_limits little = {.least = 2, .room = 10, .most = 10},
                        some = {.least = KF_MIN_SETS, .room = 10, .most = 1024};
    assert_int_equal(kf_schedule_sets_for(&little, 100), 2);
    assert_int_equal(kf_schedule_sets_for(&some, 100), 10);
    assert_int_equal(kf_schedule_sets_for(&some, 1), KF_MIN_SETS);
}

static void a_faster_candidate_gets_more_calls_once(void **state)
{
    (void)state;
    kf_schedule s = sized();
    kf_pair_plan plan;
    s.calls[0] = s.calls[1] = 10;
    kf_schedule_begin_pairs(&s);
    assert_true(kf_schedule_next(&s, &plan));
    const double seconds[2] = {0.0002 + 10 * 200e-6, 0.0002 + 10 * 20e-6};
    uint32_t sets = kf_schedule_adapt(&s, seconds, &limits, 12);
    assert_true(s.calls[1] > 10 && s.calls[0] == 10 && sets > s.calls[1]);
    assert_true(kf_schedule_next(&s, &plan) && plan.number == 0); /* the warm-up again */
    uint32_t calls = s.calls[1];
    assert_int_equal(kf_schedule_adapt(&s, seconds, &limits, sets), sets);
    assert_int_equal(s.calls[1], calls);
}

static void a_slow_candidate_gets_few_calls_until_it_recovers(void **state)
{
    (void)state;
    kf_schedule s = sized();
    kf_pair_plan plan;
    kf_schedule_begin_pairs(&s);
    assert_true(kf_schedule_next(&s, &plan));
    const double slow[2] = {0.003, 0.030}, recovered[2] = {0.003, 0.0003};
    assert_int_equal(kf_schedule_adapt(&s, slow, &limits, 40), 40);
    assert_int_equal(s.calls[1], 3);
    assert_int_equal(s.bound.most_pairs, s.bound.least_pairs);
    assert_true(kf_schedule_next(&s, &plan));
    assert_int_equal(kf_schedule_judge(&s, &plan, slow, 0, 10), KF_STEP_KEEP);
    assert_int_equal(kf_schedule_judge(&s, &plan, recovered, 5, 10), KF_STEP_RESTART);
    assert_int_equal(s.calls[1], s.calls[0]);
    assert_int_equal(s.bound.most_pairs, KF_MAX_PAIRS);
    assert_true(kf_schedule_next(&s, &plan) && plan.number == 1);
}

static void no_time_ends_it(void **state)
{
    (void)state;
    kf_schedule s = sized();
    kf_pair_plan plan = {.number = 3, .timed = true};
    const double seconds[2] = {0.003, 0.003};
    kf_schedule_begin_pairs(&s);
    assert_int_equal(kf_schedule_judge(&s, &plan, seconds, 7, 0), KF_STEP_OUT_OF_TIME);
    assert_int_equal(kf_schedule_judge(&s, &plan, seconds, 8, 0), KF_STEP_END);
    plan.timed = false;
    assert_int_equal(kf_schedule_judge(&s, &plan, seconds, 8, 1), KF_STEP_SKIP);
}

static void enough_pairs_end_it(void **state)
{
    (void)state;
    kf_schedule s = sized();
    kf_timing_record record;
    assert_true(kf_timing_record_reserve(&record, KF_MAX_PAIRS));
    kf_schedule_begin_pairs(&s);
    for (int i = 0; i < 8; i++) {
        const kf_pair_times times[2] = {{.batch = 0.003 + 1e-7 * i, .single = NAN},
                                        {.batch = 0.0015 + 1e-7 * i, .single = NAN}};
        assert_false(kf_schedule_is_done(&s, &record, 0.1));
        kf_timing_record_add_pair(&record, times, s.calls);
    }
    assert_true(kf_schedule_is_done(&s, &record, 0.1)); /* the interval is narrow */
    assert_int_equal(record.singles[0].count, 0);
    kf_timing_record_drop_pairs(&record);
    assert_false(kf_schedule_is_done(&s, &record, 100));
    kf_timing_record_free(&record);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checked_workload_has_three_pairs),
        cmocka_unit_test(pairs_alternate_after_the_first_two),
        cmocka_unit_test(batches_get_the_length_asked_for),
        cmocka_unit_test(memory_limits_the_sets),
        cmocka_unit_test(a_faster_candidate_gets_more_calls_once),
        cmocka_unit_test(a_slow_candidate_gets_few_calls_until_it_recovers),
        cmocka_unit_test(no_time_ends_it),
        cmocka_unit_test(enough_pairs_end_it),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
