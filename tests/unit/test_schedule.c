/* The schedule of batches and pairs, from made-up seconds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_main.h"

#include "timing_schedule.h"

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
        assert_int_equal(kf_schedule_empty_batches(&plan, 4, 0), 0);
    }
    assert_false(kf_schedule_next(&s, &plan));
}

/* The first two pairs have the baseline first. Of each two pairs after them, one has the candidate
 * first. In each four timed pairs one or two are followed by a watched batch. Seven or eight of the
 * first eight have single calls, as many as an interval needs. */
static void chance_orders_pairs_in_balance(void **state)
{
    (void)state;
    unsigned orders = 0, watches = 0, sevens = 0, eights = 0, later = 0;
    unsigned empties[8] = {0}, watched_empties[8] = {0};
    for (uint64_t job = 0; job < 64; job++) {
        kf_schedule s = started(true);
        kf_pair_plan plan = {.number = 0}, last;
        s.choices.state = job;
        kf_schedule_begin_pairs(&s);
        int singles = 0, watched = 0;
        for (int i = 0; i < 41; i++) {
            last = plan;
            assert_true(kf_schedule_next(&s, &plan));
            assert_int_equal(plan.serial, i);
            assert_int_equal(plan.timed, i > 0);
            assert_int_equal(plan.baseline_compared, i < 2);
            assert_true(plan.empties < 8 && plan.watched_empties < 8);
            empties[plan.empties]++;
            watched_empties[plan.watched_empties]++;
            if (i < 2) assert_false(plan.candidate_first);
            if (i >= 2 && i % 2) assert_true(plan.candidate_first != last.candidate_first);
            if (i == 2 && plan.candidate_first) orders++;
            if (i == 0) assert_true(!plan.watched && !plan.latency);
            watched += plan.watched;
            if (i && i % 4 == 0) {
                assert_true(watched == 1 || watched == 2);
                watches |= 1u << watched;
                watched = 0;
            }
            if (i <= 8) singles += plan.latency;
            later += i > 8 && plan.latency;
        }
        assert_true(singles == 7 || singles == 8);
        sevens += singles == 7;
        eights += singles == 8;
        assert_int_equal(kf_schedule_empty_batches(&plan, 4, 0), 4);
        assert_int_equal(kf_schedule_empty_batches(&plan, 4, 34), 2);
        assert_int_equal(kf_schedule_empty_batches(&plan, 4, 36), 0);
    }
    /* Each number of empty batches is frequent before both kinds of batches. So the number does not
     * show a candidate which kind follows. */
    for (int count = 1; count < 8; count++)
        assert_true(empties[count] > 64 * 41 / 14 && watched_empties[count] > 64 * 41 / 14);
    assert_int_equal(empties[0] + watched_empties[0], 0);
    /* of 64 jobs, and of 2048 later pairs */
    assert_true(orders > 16 && orders < 48 && watches == 6);
    assert_true(sevens > 16 && eights > 16 && later > 400 && later < 624);
}

/* The same secret gives the same plans. */
static void a_replay_repeats_the_order(void **state)
{
    (void)state;
    kf_schedule a = started(true), b = started(true);
    kf_pair_plan one = {0}, other = {0};
    a.choices.state = b.choices.state = 20261126;
    kf_schedule_begin_pairs(&a);
    kf_schedule_begin_pairs(&b);
    for (int i = 0; i < 40; i++) {
        assert_true(kf_schedule_next(&a, &one) && kf_schedule_next(&b, &other));
        assert_true(one.candidate_first == other.candidate_first && one.latency == other.latency &&
                    one.watched == other.watched);
    }
}

/* A call of 0.1 s, where a batch of the baseline's length has 30: fewer calls fit in half a second.
 */
static void a_slow_first_call_makes_batches_short(void **state)
{
    (void)state;
    kf_schedule s = sized();
    kf_schedule_set_candidate_call(&s, 0.01, 0.5);
    assert_int_equal(s.calls[1], 30);
    kf_schedule_set_candidate_call(&s, 0.1, 0.5);
    assert_int_equal(s.calls[1], 5);
    kf_schedule_set_candidate_call(&s, 2, 0.5);
    assert_int_equal(s.calls[1], 1);
    assert_int_equal(s.calls[0], 30);
    assert_true(s.candidate_call == 2);
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
    /* The only set is called. */
    const kf_set_limits one = {.least = 1, .room = 0.5, .most = 1024};
    kf_schedule only = {0};
    kf_schedule_set_call(&only, 1e-3, kf_schedule_sets_for(&one, 20));
    assert_int_equal(only.calls[0], 1);
    assert_int_equal(only.calls[1], 1);
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

/* Adds pairs until there are `count` of them. */
static void add_pairs(kf_timing_record *record, const kf_schedule *s, size_t count, double spread)
{
    for (size_t i = kf_timing_record_pairs(record); i < count; i++) {
        const kf_pair_times times[2] = {{.batch = i % 2 ? 0.003 : 0.003 * spread, .single = NAN},
                                        {.batch = 0.0015, .single = NAN}};
        kf_timing_record_add_pair(record, times, s->calls);
    }
}

/* A vague interval gets more time where the caller allows it, but not for ever, and no more looks
 * than others. */
static void vague_intervals_take_longer(void **state)
{
    (void)state;
    kf_schedule s = sized();
    kf_timing_record record;
    assert_true(kf_timing_record_reserve(&record, KF_MAX_PAIRS));
    kf_schedule_begin_pairs(&s);
    double seconds = s.bound.seconds, later = 1.1 * seconds;
    add_pairs(&record, &s, 10, 2);
    assert_true(kf_schedule_is_done(&s, &record, later));
    s.vague_times = 3;
    assert_false(kf_schedule_is_done(&s, &record, 0.9 * seconds));
    assert_false(kf_schedule_is_done(&s, &record, later));
    assert_false(kf_schedule_is_done(&s, &record, 2.9 * seconds));
    assert_true(kf_schedule_is_done(&s, &record, 3 * seconds));
    s.bound.half_width = 2; /* it is narrow enough for the caller */
    assert_true(kf_schedule_is_done(&s, &record, later));
    kf_timing_record_drop_pairs(&record);
    s.bound.half_width = 0.001;
    add_pairs(&record, &s, 9, 1.1); /* not vague, but no count for a look */
    assert_false(kf_schedule_is_done(&s, &record, later));
    add_pairs(&record, &s, 10, 1.1);
    assert_true(kf_schedule_is_done(&s, &record, later));
    kf_timing_record_free(&record);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checked_workload_has_three_pairs),
        cmocka_unit_test(chance_orders_pairs_in_balance),
        cmocka_unit_test(a_replay_repeats_the_order),
        cmocka_unit_test(a_slow_first_call_makes_batches_short),
        cmocka_unit_test(batches_get_the_length_asked_for),
        cmocka_unit_test(memory_limits_the_sets),
        cmocka_unit_test(a_faster_candidate_gets_more_calls_once),
        cmocka_unit_test(a_slow_candidate_gets_few_calls_until_it_recovers),
        cmocka_unit_test(no_time_ends_it),
        cmocka_unit_test(enough_pairs_end_it),
        cmocka_unit_test(vague_intervals_take_longer),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
