/* Tests of processor_time.h: processor time of another process, while it computes. */
#include "processor_time.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"

#define LOOKS 40
/* Steps without a system call, some milliseconds: a system call would add the time up. */
#define STEPS 2000000

/* What the busy process shows the number-th time: its own processor time, and the time right after.
 * Nanoseconds. */
typedef struct shown {
    int64_t own, now;
} shown;
typedef struct shared {
    int64_t number;
    shown times[1 << 16];
} shared;

static int64_t read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Binds a process to one processor of the set, the next after `cpu`. Returns its number. */
static int bind_next(pid_t pid, const cpu_set_t *all, int cpu)
{
    cpu_set_t one;
    do cpu = (cpu + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(cpu, all));
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(pid, sizeof one, &one), 0);
    return cpu;
}

/* Starts a process that computes, and shows its own time now and then. */
static pid_t start_busy(shared *at)
{
    pid_t pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int64_t number = 0; number < 1 << 16; number++) {
        at->times[number].own = read_clock(CLOCK_PROCESS_CPUTIME_ID);
        at->times[number].now = read_clock(CLOCK_MONOTONIC);
        __atomic_store_n(&at->number, number + 1, __ATOMIC_SEQ_CST);
        for (volatile int i = 0; i < STEPS; i++) continue;
    }
    _exit(1);
}

/* Waits until the process has shown its time again. */
static shown next_shown(shared *at)
{
    int64_t number = __atomic_load_n(&at->number, __ATOMIC_SEQ_CST) + 1;
    while (__atomic_load_n(&at->number, __ATOMIC_SEQ_CST) <= number) usleep(100);
    return at->times[number];
}

static shared *map_shared(void)
{
    shared *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    return at;
}

/* After a look, a process has no more processor time than time passes. */
static void a_running_thread_counts_at_once(void **state)
{
    (void)state;
    shared *at = map_shared();
    pid_t pid = start_busy(at);
    assert_true(pid > 0);
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    bind_next(pid, &all, bind_next(0, &all, -1));
    int late = 0;
    for (int i = 0; i < LOOKS; i++) {
        int64_t before = read_clock(CLOCK_MONOTONIC);
        double looked = kf_processor_seconds_now(pid);
        shown after = next_shown(at);
        late += (double)after.own - 1e9 * looked > (double)(after.now - before) + 1;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    munmap(at, sizeof *at);
    if (late) fail_msg("%d of %d looks lack time that the process has had", late, LOOKS);
}

static void a_process_keeps_its_processors(void **state)
{
    (void)state;
    shared *at = map_shared();
    cpu_set_t all, before, now;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    pid_t pid = start_busy(at);
    assert_true(pid > 0);
    for (int i = 0, cpu = -1; i < CPU_COUNT(&all); i++) {
        cpu = bind_next(pid, &all, cpu);
        assert_int_equal(sched_getaffinity(pid, sizeof before, &before), 0);
        kf_processor_seconds_now(pid);
        assert_int_equal(sched_getaffinity(pid, sizeof now, &now), 0);
        assert_true(CPU_EQUAL(&before, &now));
    }
    assert_int_equal(sched_setaffinity(pid, sizeof all, &all), 0);
    kf_processor_seconds_now(pid);
    assert_int_equal(sched_getaffinity(pid, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&all, &now));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap(at, sizeof *at);
}

static void a_process_that_has_ended_has_no_time(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (!pid) _exit(0);
    waitpid(pid, NULL, 0);
    assert_true(kf_processor_seconds_now(pid) == 0);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_thread_counts_at_once),
        cmocka_unit_test(a_process_keeps_its_processors),
        cmocka_unit_test(a_process_that_has_ended_has_no_time),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
