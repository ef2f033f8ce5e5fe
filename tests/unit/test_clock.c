/* The clock of a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_main.h"

#include "clock.h"

static kf_clock started(void)
{
    kf_clock clock = {.deadline = 100};
    kf_clock_begin_workload(&clock, 10);
    return clock;
}

static void a_pause_of_the_workload_leaves_the_deadline(void **state)
{
    (void)state;
    kf_clock clock = started();
    kf_clock_pause(&clock, 20);
    kf_clock_resume(&clock, KF_PAUSE_WORKLOAD, 25);
    assert_true(kf_clock_elapsed(&clock, 30) == 15);
    assert_true(kf_clock_left(&clock, 30) == 70);
}

static void a_pause_of_the_job_stops_both(void **state)
{
    (void)state;
    kf_clock clock = started();
    kf_clock_pause(&clock, 20);
    kf_clock_resume(&clock, KF_PAUSE_JOB, 25);
    kf_clock_exclude(&clock, KF_PAUSE_JOB, 1);
    assert_true(kf_clock_elapsed(&clock, 30) == 14);
    assert_true(kf_clock_left(&clock, 30) == 76);
}

/* Stalls move the deadline, but not the ceiling. Waits for other jobs move both. */
static void a_job_ends_at_its_ceiling(void **state)
{
    (void)state;
    kf_clock clock = kf_clock_begin_job(10, 100);
    kf_clock_begin_workload(&clock, 100);
    kf_clock_exclude(&clock, KF_PAUSE_STALL, 15);
    assert_true(kf_clock_left(&clock, 120) == 5);
    kf_clock_exclude(&clock, KF_PAUSE_STALL, 1000);
    assert_true(kf_clock_left(&clock, 120) == 10);
    kf_clock_exclude(&clock, KF_PAUSE_JOB, 7);
    assert_true(kf_clock_left(&clock, 120) == 17);
    assert_false(kf_clock_at_ceiling(&clock, 136.9));
    assert_true(kf_clock_at_ceiling(&clock, 137));
    /* the machine is to blame if it took a third */
    clock.stalled = 9.9;
    assert_false(kf_clock_is_starved(&clock, 10, 137));
    clock.stalled = 10;
    assert_true(kf_clock_is_starved(&clock, 10, 137));
    assert_false(kf_clock_is_starved(&clock, 10, 136.9));
    /* stalls and spoiled rounds moved the deadline beyond it */
    assert_false(kf_clock_is_cut(&clock, 136.9));
    assert_true(kf_clock_is_cut(&clock, 137));
    clock.deadline = 130;
    assert_false(kf_clock_is_cut(&clock, 137));
}

/* A pause moves the ceiling when it is over, so it has none meanwhile. */
static void a_pause_does_not_end_at_the_ceiling(void **state)
{
    (void)state;
    kf_clock clock = kf_clock_begin_job(30, 100);
    kf_clock_pause(&clock, 110);
    assert_false(kf_clock_at_ceiling(&clock, 210));
    kf_clock_resume(&clock, KF_PAUSE_JOB, 210);
    assert_false(kf_clock_at_ceiling(&clock, 289));
    assert_true(kf_clock_at_ceiling(&clock, 290));
}

static void the_candidate_is_blamed_for_most_of_the_time(void **state)
{
    (void)state;
    kf_clock clock = started();
    kf_clock_charge_candidate(&clock, 9);
    assert_true(kf_clock_blames_candidate(&clock, 100, 27)); /* 9 of 17 in this workload */
    assert_false(kf_clock_blames_candidate(&clock, 100, 29));
    kf_clock_begin_workload(&clock, 29);
    assert_true(kf_clock_candidate_total(&clock) == 9);
    kf_clock_charge_candidate(&clock, 21);
    assert_true(kf_clock_blames_candidate(&clock, 100, 59)); /* 30 of 59 in the job */
    kf_clock_begin_workload(&clock, 59);
    kf_clock_charge_candidate(&clock, 4);
    assert_false(kf_clock_blames_candidate(&clock, 100, 70));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_of_the_workload_leaves_the_deadline),
        cmocka_unit_test(a_pause_of_the_job_stops_both),
        cmocka_unit_test(a_job_ends_at_its_ceiling),
        cmocka_unit_test(a_pause_does_not_end_at_the_ceiling),
        cmocka_unit_test(the_candidate_is_blamed_for_most_of_the_time),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
