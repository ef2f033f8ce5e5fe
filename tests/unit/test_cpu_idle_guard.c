/* A processor that is kept awake: by a thread that does nothing else, where runners are late, and
 * only while all are stopped. */
#include "cpu_idle_guard.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"

#define ENOUGH 0.001 /* seconds on a processor */
/* seconds: every processor may be busy, and such a thread gets one part in some hundred of one then
 */
#define PATIENT 60
/* looks in a row at a thread that rests */
#define LOOKS 5

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the CPU seconds that threads with the idle policy have used, or NAN without such a
 * thread. */
static double idle_threads_had(void)
{
    DIR *folder = opendir("/proc/self/task");
    double sum = NAN;
    assert_non_null(folder);
    for (struct dirent *item; (item = readdir(folder));) {
        char path[300];
        unsigned long long nanoseconds;
        if (atoi(item->d_name) <= 0 || sched_getscheduler(atoi(item->d_name)) != SCHED_IDLE)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", item->d_name);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%llu", &nanoseconds) == 1)
            sum = (isnan(sum) ? 0 : sum) + 1e-9 * (double)nanoseconds;
        if (file) fclose(file);
    }
    closedir(folder);
    return sum;
}

static bool computes_within(double seconds)
{
    double until = now() + seconds, began = idle_threads_had(), had = began;
    if (isnan(began)) began = 0; /* it has not begun */
    while (now() < until && !(had - began >= ENOUGH)) {
        usleep(2000);
        had = idle_threads_had();
    }
    return had - began >= ENOUGH;
}

/* True if a thread with the idle policy computes, or waits for a processor. */
static bool wants_to_compute(void)
{
    DIR *folder = opendir("/proc/self/task");
    bool wants = false;
    assert_non_null(folder);
    for (struct dirent *item; (item = readdir(folder));) {
        char path[300], thread_state = 0;
        if (atoi(item->d_name) <= 0 || sched_getscheduler(atoi(item->d_name)) != SCHED_IDLE)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", item->d_name);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%*d (%*[^)]) %c", &thread_state) == 1)
            wants |= thread_state == 'R';
        if (file) fclose(file);
    }
    closedir(folder);
    return wants;
}

/* True if the thread sleeps soon, and goes on sleeping. One under way stops only when it runs
 * again, for which a busy machine needs a while. */
static bool rests(void)
{
    double until = now() + PATIENT;
    int looks = 0;
    while (looks < LOOKS && now() < until) {
        looks = wants_to_compute() ? 0 : looks + 1;
        usleep(20000);
    }
    return looks == LOOKS;
}

/* False in container runtimes that forbid the policy. */
static bool has_policy(void)
{
    const struct sched_param none = {0};
    pid_t self = 0;
    int before = sched_getscheduler(self);
    if (sched_setscheduler(self, SCHED_IDLE, &none)) return false;
    return sched_setscheduler(self, before, &none) == 0;
}

static int first_processor(void)
{
    cpu_set_t mine;
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &mine)) cpu++;
    return cpu;
}

static void late_ones(kf_cpu_idle_guard *w, int count)
{
    for (int i = 0; i < count; i++) kf_cpu_idle_guard_note(w, 0.0002);
}

static void it_computes_while_all_runners_are_stopped(void **state)
{
    (void)state;
    if (!has_policy()) skip();
    kf_cpu_idle_guard *w = kf_cpu_idle_guard_new(first_processor());
    assert_non_null(w);
    kf_cpu_idle_guard_begin(w);
    late_ones(w, 8);
    for (int turn = 0; turn < 2; turn++) {
        kf_cpu_idle_guard_keep(w); /* one after the other is stopped */
        kf_cpu_idle_guard_keep(w);
        assert_true(computes_within(PATIENT));
        kf_cpu_idle_guard_rest(w); /* and any is woken */
        assert_true(rests());
    }
    kf_cpu_idle_guard_free(w);
}

static void there_is_no_thread_where_nobody_is_late(void **state)
{
    (void)state;
    kf_cpu_idle_guard *w = kf_cpu_idle_guard_new(first_processor());
    kf_cpu_idle_guard_keep(w); /* it has not begun */
    kf_cpu_idle_guard_begin(w);
    late_ones(w, 7); /* not yet enough to say so */
    kf_cpu_idle_guard_keep(w);
    kf_cpu_idle_guard_end(w);
    kf_cpu_idle_guard_begin(w);
    for (int i = 0; i < 20; i++) kf_cpu_idle_guard_note(w, 0.00005);
    late_ones(w, 2); /* now and then is no reason */
    kf_cpu_idle_guard_keep(w);
    usleep(20000);
    assert_true(isnan(idle_threads_had()));
    kf_cpu_idle_guard_free(w);
    kf_cpu_idle_guard *none = kf_cpu_idle_guard_new(-1);
    kf_cpu_idle_guard_begin(none);
    late_ones(none, 8);
    kf_cpu_idle_guard_keep(none);
    usleep(20000);
    assert_true(isnan(idle_threads_had()));
    kf_cpu_idle_guard_free(none);
    kf_cpu_idle_guard_free(NULL);
}

static void it_ends_with_the_workload(void **state)
{
    (void)state;
    if (!has_policy()) skip();
    kf_cpu_idle_guard *w = kf_cpu_idle_guard_new(first_processor());
    kf_cpu_idle_guard_begin(w);
    late_ones(w, 8);
    kf_cpu_idle_guard_keep(w);
    assert_true(computes_within(PATIENT));
    kf_cpu_idle_guard_end(w);
    assert_true(rests());
    kf_cpu_idle_guard_keep(w);
    assert_true(rests());
    kf_cpu_idle_guard_begin(w); /* it is still needed */
    kf_cpu_idle_guard_keep(w);
    assert_true(computes_within(PATIENT));
    for (int i = 0; i < 16; i++) { /* and is to be shown again one day */
        kf_cpu_idle_guard_end(w);
        kf_cpu_idle_guard_begin(w);
    }
    kf_cpu_idle_guard_keep(w);
    assert_true(rests());
    kf_cpu_idle_guard_free(w);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_computes_while_all_runners_are_stopped),
        cmocka_unit_test(there_is_no_thread_where_nobody_is_late),
        cmocka_unit_test(it_ends_with_the_workload),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
