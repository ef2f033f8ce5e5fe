/* A thread that sleeps until it is woken: it calls its function once or never, and leaves the
 * caller's signals and first processor alone. */
#include "light_sleeper.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"

typedef struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t turn, deadline, period;
} attributes;

typedef struct seen {
    int calls;
    cpu_set_t processors;
    sigset_t blocked;
    /* nanoseconds of a turn; 0 for the usual ones */
    uint64_t turn;
} seen;

static void note(void *context)
{
    seen *s = context;
    attributes a = {0};
    s->calls++;
    sched_getaffinity(0, sizeof s->processors, &s->processors);
    pthread_sigmask(SIG_BLOCK, NULL, &s->blocked);
    if (!syscall(SYS_sched_getattr, 0, &a, sizeof a, 0u)) s->turn = a.turn;
}

static seen run(bool wakes, bool spares_first)
{
    seen s = {0};
    kf_light_sleeper *sleeper = kf_light_sleeper_start(note, &s, spares_first);
    assert_non_null(sleeper);
    assert_int_equal(s.calls, 0);
    if (wakes) kf_light_sleeper_wake(sleeper);
    kf_light_sleeper_end(sleeper);
    return s;
}

static void it_calls_once_if_it_is_woken(void **state)
{
    (void)state;
    assert_int_equal(run(true, false).calls, 1);
    assert_int_equal(run(false, false).calls, 0);
    kf_light_sleeper_end(NULL);
}

static void it_keeps_off_the_first_processor(void **state)
{
    (void)state;
    cpu_set_t mine;
    int first = 0;
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    while (!CPU_ISSET(first, &mine)) first++;
    seen s = run(true, false);
    assert_true(CPU_EQUAL(&s.processors, &mine));
    s = run(true, true);
    if (CPU_COUNT(&mine) > 1) CPU_CLR(first, &mine);
    assert_true(CPU_EQUAL(&s.processors, &mine));
}

static void it_takes_no_signals(void **state)
{
    (void)state;
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    seen s = run(true, false);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_true(sigismember(&s.blocked, SIGINT) && sigismember(&s.blocked, SIGTERM));
    assert_int_equal(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
}

/* The caller's own turns stay as they are. */
static void it_asks_for_short_turns(void **state)
{
    (void)state;
    seen caller = {0};
    note(&caller);
    uint64_t before = caller.turn;
    seen s = run(true, false);
    note(&caller);
    assert_int_equal(caller.turn, before);
    /* Older kernels, and other schedulers, know no such turns. */
    attributes a = {.size = sizeof a, .turn = 200000};
    a.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &a, 0u);
    note(&caller);
    if (caller.turn != 200000) skip();
    assert_int_equal(s.turn, 100000);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_calls_once_if_it_is_woken),
        cmocka_unit_test(it_keeps_off_the_first_processor),
        cmocka_unit_test(it_takes_no_signals),
        cmocka_unit_test(it_asks_for_short_turns),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
