/* Which time counts as waiting for a runner, and which as a stall of the machine. */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "runner_timeout.h"
#include "kforge/file.h"

static void time_between_looks_counts(void **state)
{
    (void)state;
    kf_runner_timeout p;
    kf_runner_timeout_begin(&p, 1, 100);
    for (int i = 1; i <= 9; i++) assert_true(kf_runner_timeout_look(&p, 0, 100 + 0.1 * i));
    assert_float_equal(p.used, 0.9, 1e-9);
    assert_in_range(kf_runner_timeout_sleep(&p), 99, 102);
    assert_true(kf_runner_timeout_look(&p, 0, 100.96));
    assert_in_range(kf_runner_timeout_sleep(&p), 39, 42);
    assert_false(kf_runner_timeout_look(&p, 0, 101.0001));
    assert_float_equal(p.stalled, 0, 1e-9);
}

static void a_look_that_comes_late_is_a_stall(void **state)
{
    (void)state;
    kf_runner_timeout p;
    kf_runner_timeout_begin(&p, 1, 100);
    for (int i = 1; i <= 4; i++) assert_true(kf_runner_timeout_look(&p, 0, 100 + 60 * i));
    assert_float_equal(p.used, 0.8, 1e-9);
    assert_float_equal(p.stalled, 239.2, 1e-9);
    /* many stalls in a row do not extend a runner's time without end */
    assert_false(kf_runner_timeout_look(&p, 0, 400));
}

/* On a machine that takes nearly all of a wait, the wait still ends at the job's ceiling. */
static void a_wait_ends_at_the_ceiling_of_the_job(void **state)
{
    (void)state;
    kf_runner_timeout p;
    kf_clock clock = kf_clock_begin_job(100, 100);
    kf_runner_timeout_bound(&clock);
    kf_runner_timeout_begin(&p, 50, 100);
    for (int i = 1; i <= 4; i++) assert_true(kf_runner_timeout_look(&p, 0, 100 + 60 * i));
    assert_float_equal(clock.stalled, 239.2, 1e-9);
    assert_false(kf_runner_timeout_look(&p, 0, 400));
    assert_float_equal(p.used, 1, 1e-9);
    assert_true(kf_clock_is_starved(&clock, 100, 400));
    kf_runner_timeout_bound(NULL);
    assert_true(kf_runner_timeout_look(&p, 0, 460));
}

/* The compiler of a baseline, and the import of PyTorch, have their own limits. */
static void a_wait_in_a_pause_has_no_ceiling(void **state)
{
    (void)state;
    kf_runner_timeout p;
    kf_clock clock = kf_clock_begin_job(30, 100);
    kf_runner_timeout_bound(&clock);
    kf_clock_pause(&clock, 100);
    kf_runner_timeout_begin(&p, 600, 100);
    for (int i = 1; i <= 1000; i++) assert_true(kf_runner_timeout_look(&p, 0, 100 + 0.1 * i));
    assert_true(kf_runner_timeout_look(&p, 0, 260));
    assert_float_equal(clock.stalled, 0, 1e-9);
    kf_clock_resume(&clock, KF_PAUSE_JOB, 260);
    assert_true(kf_runner_timeout_look(&p, 0, 260.1));
    assert_false(kf_runner_timeout_look(&p, 0, 350));
    kf_runner_timeout_bound(NULL);
}

static void a_runner_pays_for_keeping_the_judge_from_running(void **state)
{
    (void)state;
    const struct {
        double went, computed, starved, used;
    } rows[] = {
        {0.1, 0.2, 0, 0.1}, /* in time */
        {5, 0, 0, 0.2},     /* the whole machine stood still */
        {5, 0, 4.9, 0.2},   /* other programs had the processor */
        /* only the waiter stood still; or a virtual machine that takes what it missed for a
           process's time */
        {5, 5, 0, 0.2},
        {5, 9, 4.9, 5},      /* hundreds of threads of the runner had the processor */
        {5, 1, 4.9, 1.2},    /* the runner and other programs had it */
        {5, 9, INFINITY, 5}, /* a kernel without these numbers */
        {0.15, 9, 9, 0.15},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_runner_timeout p;
        kf_runner_timeout_begin(&p, 10, 0);
        kf_runner_timeout_spend(&p, rows[i].went, rows[i].computed, rows[i].starved);
        if (fabs(p.used - rows[i].used) > 1e-9 || fabs(p.used + p.stalled - rows[i].went) > 1e-9)
            fail_msg("row %d: used %g, stalled %g", (int)i, p.used, p.stalled);
    }
}

/* Starts a child that spins on one processor. Two of them wait for each other, and not for long:
 * the kernel counts a wait when it is over. */
static pid_t spin(void)
{
    pid_t child = fork();
    if (child) return child;
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof one, &one)) _exit(1);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &one)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one)) _exit(1);
    alarm(60);
    for (volatile unsigned i = 0;; i++) {
    }
}

/* Returns the seconds that a process gets beyond `seconds`. */
static double given(pid_t pid, double seconds)
{
    kf_runner_timeout p;
    kf_runner_timeout_begin(&p, seconds, kf_now());
    do {
        usleep((useconds_t)kf_runner_timeout_sleep(&p) * 1000);
    } while (kf_runner_timeout_look(&p, pid, kf_now()));
    /* a candidate can make its own threads wait for a processor */
    assert_true(p.granted <= KF_RUNNER_TIMEOUT_GRANT + 1e-9);
    assert_true(p.excused <= KF_RUNNER_TIMEOUT_LOAD * seconds + 1e-9);
    return p.granted + p.excused;
}

/* While a thread waits because of its own process, another of its threads runs. */
static void only_other_programs_excuse_a_wait(void **state)
{
    (void)state;
    const struct {
        double queued, ran, computed, foreign;
    } rows[] = {
        {5, 1, 1, 5},      /* one thread, and five other programs */
        {5, 1, 2, 4},      /* two threads on two processors, with ten others */
        {5, 5, 10, 0},     /* four threads on two processors */
        {6.7, 3.3, 10, 0}, /* three threads on one processor */
        {9.9, 0.1, 10, 0}, /* a hundred threads on one processor */
        {0, 10, 10, 0},    /* no wait */
        {1, 3, 2.9, 1},    /* numbers of different moments */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double foreign = kf_runner_timeout_foreign(rows[i].queued, rows[i].ran, rows[i].computed);
        if (fabs(foreign - rows[i].foreign) > 1e-9) fail_msg("row %d: %g", (int)i, foreign);
    }
}

static void a_runner_without_a_processor_gets_more_time_and_a_sleeping_one_does_not(void **state)
{
    (void)state;
    if (access("/proc/self/schedstat", R_OK)) skip(); /* a kernel without CONFIG_SCHED_INFO */
    pid_t sleeper = fork();
    if (!sleeper) raise(SIGSTOP);
    assert_int_equal(waitpid(sleeper, NULL, WUNTRACED), sleeper);
    assert_float_equal(given(sleeper, 0.6), 0, 0.001);
    assert_int_equal(kill(sleeper, SIGKILL) | (waitpid(sleeper, NULL, 0) != sleeper), 0);
    pid_t hog = spin(), starved = spin();
    usleep(50000);
    /* Among very many programs, a wait may be longer than that. */
    double most = 0;
    for (int turn = 0; turn < 10 && most <= 0.1; turn++) most = fmax(most, given(starved, 1));
    assert_true(most > 0.1);
    assert_int_equal(kill(hog, SIGKILL) | kill(starved, SIGKILL), 0);
    assert_int_equal(waitpid(hog, NULL, 0), hog);
    assert_int_equal(waitpid(starved, NULL, 0), starved);
    assert_float_equal(given(starved, 0.3), 0, 0.001); /* its process has ended */
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_between_looks_counts),
        cmocka_unit_test(a_look_that_comes_late_is_a_stall),
        cmocka_unit_test(a_wait_ends_at_the_ceiling_of_the_job),
        cmocka_unit_test(a_wait_in_a_pause_has_no_ceiling),
        cmocka_unit_test(a_runner_pays_for_keeping_the_judge_from_running),
        cmocka_unit_test(only_other_programs_excuse_a_wait),
        cmocka_unit_test(a_runner_without_a_processor_gets_more_time_and_a_sleeping_one_does_not),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
