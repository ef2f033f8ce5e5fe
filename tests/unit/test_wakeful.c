/* Processors that are kept awake: threads that do nothing else, where runners are late, and only while one is stopped. */
#include "wakeful.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t stopped_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(0);
    }
    int status;
    assert_true(pid > 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    return pid;
}

static void bury(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What this process computes within so many seconds, at most; it ends once that is enough. */
static double computed_within(double seconds, double enough)
{
    double began = seconds_of(CLOCK_PROCESS_CPUTIME_ID), until = seconds_of(CLOCK_MONOTONIC) + seconds, used = 0;
    while (seconds_of(CLOCK_MONOTONIC) < until && used < enough) {
        usleep(5000);
        used = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - began;
    }
    return used;
}

#define ENOUGH 0.02 /* seconds on a processor: nothing else here takes as much */
#define PATIENT 20  /* seconds: every processor may be busy with others' work */
#define SHORTLY 0.2

static void late_ones(kf_wakeful *w, int count)
{
    for (int i = 0; i < count; i++) kf_wakeful_note(w, 0.0002);
}

static void a_processor_is_kept_awake_while_its_runner_is_stopped(void **state)
{
    (void)state;
    kf_wakeful *w = kf_wakeful_new();
    pid_t pid = stopped_child(), other = stopped_child();
    assert_non_null(w);
    kf_wakeful_begin(w);
    late_ones(w, 8);
    int processor = kf_wakeful_keep(w, pid), second = kf_wakeful_keep(w, other);
    cpu_set_t mine;
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    assert_true(processor >= 0 && CPU_ISSET(processor, &mine) && second >= 0);
    assert_true(computed_within(PATIENT, ENOUGH) >= ENOUGH);
    kf_wakeful_let_go(w, processor);
    kf_wakeful_let_go(w, second);
    computed_within(0.05, 1); /* what was under way */
    assert_true(computed_within(SHORTLY, ENOUGH) < ENOUGH);
    kf_wakeful_free(w);
    bury(pid);
    bury(other);
}

static void nothing_computes_where_nobody_is_late(void **state)
{
    (void)state;
    kf_wakeful *w = kf_wakeful_new();
    pid_t pid = stopped_child();
    assert_int_equal(kf_wakeful_keep(w, pid), -1); /* it has not begun */
    kf_wakeful_begin(w);
    late_ones(w, 7); /* not yet enough to say so */
    assert_int_equal(kf_wakeful_keep(w, pid), -1);
    kf_wakeful_end(w);
    kf_wakeful_begin(w);
    for (int i = 0; i < 20; i++) kf_wakeful_note(w, 0.00005);
    late_ones(w, 2); /* now and then is no reason */
    assert_int_equal(kf_wakeful_keep(w, pid), -1);
    kf_wakeful_let_go(w, -1);
    kf_wakeful_free(w);
    kf_wakeful_free(NULL);
    bury(pid);
}

/* A runner may be stopped when a workload begins, and still be when it ends. */
static void it_ends_with_the_workload(void **state)
{
    (void)state;
    kf_wakeful *w = kf_wakeful_new();
    pid_t pid = stopped_child();
    kf_wakeful_begin(w);
    late_ones(w, 8);
    int processor = kf_wakeful_keep(w, pid);
    assert_true(processor >= 0);
    kf_wakeful_end(w);
    computed_within(0.05, 1);
    assert_true(computed_within(SHORTLY, ENOUGH) < ENOUGH);
    assert_int_equal(kf_wakeful_keep(w, pid), -1);
    kf_wakeful_begin(w); /* it is still needed */
    kf_wakeful_let_go(w, processor);
    assert_int_equal(kf_wakeful_keep(w, pid), processor);
    assert_true(computed_within(PATIENT, ENOUGH) >= ENOUGH);
    kf_wakeful_end(w);
    kf_wakeful_let_go(w, processor);
    bool needed = true; /* and is to be shown again one day */
    for (int i = 0; i < 100 && needed; i++) {
        kf_wakeful_begin(w);
        processor = kf_wakeful_keep(w, pid);
        needed = processor >= 0;
        kf_wakeful_let_go(w, processor);
        kf_wakeful_end(w);
    }
    assert_false(needed);
    kf_wakeful_free(w);
    bury(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_processor_is_kept_awake_while_its_runner_is_stopped),
        cmocka_unit_test(nothing_computes_where_nobody_is_late),
        cmocka_unit_test(it_ends_with_the_workload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
