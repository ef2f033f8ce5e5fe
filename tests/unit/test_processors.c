/* Which processor the runners of each GPU launch from: one that nobody else has, next to the GPU where that is known. */
#include "processors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cpu_set_t range(int first, int last)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = first; cpu <= last; cpu++) CPU_SET(cpu, &set);
    return set;
}

static int launcher(const cpu_set_t *allowed, const cpu_set_t *near, size_t gpus, size_t which)
{
    kf_processors p;
    if (!kf_processors_assign(allowed, near, gpus, which, &p)) return -1;
    assert_int_equal(CPU_COUNT(&p.launcher), 1);
    assert_int_equal(CPU_COUNT(&p.launchers), gpus);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &p.launcher)) continue;
        assert_true(CPU_ISSET(cpu, &p.launchers) && CPU_ISSET(cpu, allowed));
        return cpu;
    }
    fail();
    return -1;
}

static void each_gpu_has_one_next_to_it(void **state)
{
    (void)state;
    cpu_set_t all = range(0, 15), none = range(1, 0), near[] = {none, none, none, none};
    assert_int_equal(launcher(&all, near, 1, 0), 15);
    assert_int_equal(launcher(&all, near, 4, 0), 15);
    assert_int_equal(launcher(&all, near, 4, 3), 12);
    /* Two sockets; the first two GPUs are next to the first. */
    near[0] = near[1] = range(0, 7);
    near[2] = near[3] = range(8, 15);
    assert_int_equal(launcher(&all, near, 4, 0), 7);
    assert_int_equal(launcher(&all, near, 4, 1), 6);
    assert_int_equal(launcher(&all, near, 4, 2), 15);
    assert_int_equal(launcher(&all, near, 4, 3), 14);
    /* What is near may be nobody's to use, or not be enough. */
    cpu_set_t some = range(6, 23);
    assert_int_equal(launcher(&some, near, 4, 0), 7);
    assert_int_equal(launcher(&some, near, 4, 1), 6);
    near[2] = near[3] = range(40, 47);
    assert_int_equal(launcher(&some, near, 4, 2), 23);
    assert_int_equal(launcher(&some, near, 4, 3), 22);
}

static void few_processors_are_everybody_s(void **state)
{
    (void)state;
    cpu_set_t none = range(1, 0), near[KF_PROCESSORS_GPUS];
    for (size_t i = 0; i < KF_PROCESSORS_GPUS; i++) near[i] = none;
    cpu_set_t three = range(0, 2), four = range(0, 3), all = range(0, 255);
    assert_int_equal(launcher(&three, near, 1, 0), -1);
    assert_int_equal(launcher(&four, near, 1, 0), 3);
    assert_int_equal(launcher(&four, near, 2, 0), -1);
    assert_int_equal(launcher(&four, near, 1, 1), -1); /* there is no such GPU */
    assert_int_equal(launcher(&all, near, KF_PROCESSORS_GPUS, KF_PROCESSORS_GPUS - 1), 192);
}

static void the_others_are_what_is_left_to_this_thread(void **state)
{
    (void)state;
    cpu_set_t mine, others;
    kf_processors p = {0};
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    assert_true(kf_processors_others(&p, &others) && CPU_EQUAL(&others, &mine));
    p.launchers = mine;
    assert_false(kf_processors_others(&p, &others));
    if (CPU_COUNT(&mine) < 2) return;
    int first = 0;
    while (!CPU_ISSET(first, &mine)) first++;
    CPU_CLR(first, &p.launchers);
    assert_true(kf_processors_others(&p, &others));
    assert_true(CPU_COUNT(&others) == 1 && CPU_ISSET(first, &others));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gpu_has_one_next_to_it),
        cmocka_unit_test(few_processors_are_everybody_s),
        cmocka_unit_test(the_others_are_what_is_left_to_this_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
