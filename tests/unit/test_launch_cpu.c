/* Tests of launch_cpu.h: it assigns each GPU's runners a CPU of their own, close to the GPU if its
 * location is known. */
#include "launch_cpu.h"
#include "cgroup_cpu_limit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test_main.h"

static cpu_set_t range(int first, int last)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = first; cpu <= last; cpu++) CPU_SET(cpu, &set);
    return set;
}

static void alone(int processor, cpu_set_t *core)
{
    *core = range(processor, processor);
}

static void neighbours(int processor, cpu_set_t *core)
{
    *core = range(processor / 2 * 2, processor / 2 * 2 + 1);
}

static void halves(int processor, cpu_set_t *core) /* as many servers count: 0 and 8, 1 and 9 */
{
    *core = range(processor % 8, processor % 8);
    CPU_SET(processor % 8 + 8, core);
}

static int launcher(const cpu_set_t *allowed, const kf_gpu_place *places, size_t gpus, size_t which,
                    kf_core *core_of)
{
    kf_launch_cpu p;
    if (!kf_launch_cpu_assign(allowed, places, gpus, which, core_of, &p)) return -1;
    assert_true(CPU_COUNT(&p.launcher) == 1 && CPU_ISSET(p.processor, &p.launcher));
    assert_true(CPU_ISSET(p.processor, &p.cores) && CPU_ISSET(p.processor, allowed));
    cpu_set_t core;
    core_of(p.processor, &core);
    assert_int_equal(CPU_COUNT(&p.cores), gpus * (size_t)CPU_COUNT(&core));
    return p.processor;
}

static void each_gpu_has_one_next_to_it(void **state)
{
    (void)state;
    cpu_set_t all = range(0, 15), none = range(1, 0);
    kf_gpu_place unknown[] = {{none, -1}, {none, -1}, {none, -1}, {none, -1}};
    assert_int_equal(launcher(&all, unknown, 1, 0, alone), 15);
    assert_int_equal(launcher(&all, unknown, 4, 3, alone), 12);
    /* Two sockets; the first two GPUs are next to the first. */
    kf_gpu_place places[] = {
        {range(0, 7), 0}, {range(0, 7), 1}, {range(8, 15), 2}, {range(8, 15), 3}};
    static const int chosen[] = {7, 6, 13, 12};
    for (size_t i = 0; i < 4; i++) assert_int_equal(launcher(&all, places, 4, i, alone), chosen[i]);
    /* A process that sees only some of the GPUs gets the same result. */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(launcher(&all, &places[i], 1, 0, alone), chosen[i]);
    assert_int_equal(launcher(&all, &places[2], 2, 1, alone), chosen[3]);
    /* Numbers wrap around, and a CPU is assigned once. */
    kf_gpu_place same[] = {{range(0, 7), 0}, {range(0, 7), 8}};
    assert_int_equal(launcher(&all, same, 2, 0, alone), 7);
    assert_int_equal(launcher(&all, same, 2, 1, alone), 6);
    /* The CPUs near a GPU may all be forbidden to this process. */
    cpu_set_t some = range(6, 23);
    kf_gpu_place far[] = {{range(40, 47), 0}, {range(0, 7), 0}};
    assert_int_equal(launcher(&some, far, 2, 0, alone), 23);
    assert_int_equal(launcher(&some, far, 2, 1, alone), 7);
}

static void no_two_share_a_core(void **state)
{
    (void)state;
    cpu_set_t all = range(0, 15), none = range(1, 0);
    kf_gpu_place places[] = {{none, 0}, {none, 1}, {none, 2}};
    assert_int_equal(launcher(&all, places, 3, 0, neighbours), 15);
    assert_int_equal(launcher(&all, places, 3, 1, neighbours), 13);
    assert_int_equal(launcher(&all, places, 3, 2, neighbours), 11);
    assert_int_equal(launcher(&all, places, 3, 1, halves), 14);
    kf_launch_cpu p;
    assert_true(kf_launch_cpu_assign(&all, places, 3, 1, halves, &p));
    for (int cpu = 0; cpu < 16; cpu++) assert_int_equal(!!CPU_ISSET(cpu, &p.cores), cpu % 8 >= 5);
    cpu_set_t core, system;
    kf_core_of_system(0, &core);
    assert_true(CPU_ISSET(0, &core) && CPU_COUNT(&core) >= 1);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &core)) continue;
        kf_core_of_system(cpu, &system);
        assert_true(CPU_EQUAL(&system, &core));
    }
}

static void few_processors_are_everybody_s(void **state)
{
    (void)state;
    cpu_set_t none = range(1, 0);
    kf_gpu_place places[KF_LAUNCH_CPU_GPUS];
    for (int i = 0; i < KF_LAUNCH_CPU_GPUS; i++) places[i] = (kf_gpu_place){none, i};
    cpu_set_t three = range(0, 2), four = range(0, 3), all = range(0, 255);
    assert_int_equal(launcher(&three, places, 1, 0, alone), -1);
    assert_int_equal(launcher(&four, places, 1, 0, alone), 3);
    assert_int_equal(launcher(&four, places, 2, 0, alone), -1);
    assert_int_equal(launcher(&four, places, 1, 1, alone), -1); /* there is no such GPU */
    assert_int_equal(launcher(&all, places, KF_LAUNCH_CPU_GPUS, KF_LAUNCH_CPU_GPUS - 1, alone),
                     192);
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void control_groups_say_what_they_grant(void **state)
{
    (void)state;
    char root[] = "/tmp/kforge-groups-XXXXXX", path[300], command[400];
    assert_non_null(mkdtemp(root));
    snprintf(command, sizeof command, "mkdir -p %s/a/b %s/cpu,cpuacct/c/d", root, root);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/own", root);
    put(root, "own", "0::/a/b\n");
    assert_true(isinf(kf_cgroup_cpu_limit(path, root)));
    put(root, "a/b/cpu.max", "max 100000\n");
    assert_true(isinf(kf_cgroup_cpu_limit(path, root)));
    put(root, "a/cpu.max", "250000 100000\n"); /* of all that are below */
    assert_true(fabs(kf_cgroup_cpu_limit(path, root) - 2.5) < 1e-9);
    put(root, "a/b/cpu.max", "600000 100000\n");
    assert_true(fabs(kf_cgroup_cpu_limit(path, root) - 2.5) < 1e-9);
    put(root, "own", "5:cpuacct,cpu:/c/d\n4:memory:/a/b\n0::/\n");
    assert_true(isinf(kf_cgroup_cpu_limit(path, root)));
    put(root, "cpu,cpuacct/c/d/cpu.cfs_quota_us", "-1\n");
    put(root, "cpu,cpuacct/c/d/cpu.cfs_period_us", "100000\n");
    assert_true(isinf(kf_cgroup_cpu_limit(path, root)));
    put(root, "cpu,cpuacct/c/cpu.cfs_quota_us", "50000\n");
    put(root, "cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
    assert_true(fabs(kf_cgroup_cpu_limit(path, root) - 0.5) < 1e-9);
    assert_true(isinf(kf_cgroup_cpu_limit("/nonexistent", root)));
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void the_others_are_what_is_left_to_this_thread(void **state)
{
    (void)state;
    cpu_set_t mine, others;
    kf_launch_cpu p = {0};
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    assert_true(kf_launch_cpu_others(&p, &others) && CPU_EQUAL(&others, &mine));
    p.cores = mine;
    assert_false(kf_launch_cpu_others(&p, &others));
    if (CPU_COUNT(&mine) < 2) return;
    int first = 0;
    while (!CPU_ISSET(first, &mine)) first++;
    CPU_CLR(first, &p.cores);
    assert_true(kf_launch_cpu_others(&p, &others));
    assert_true(CPU_COUNT(&others) == 1 && CPU_ISSET(first, &others));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gpu_has_one_next_to_it),
        cmocka_unit_test(no_two_share_a_core),
        cmocka_unit_test(few_processors_are_everybody_s),
        cmocka_unit_test(control_groups_say_what_they_grant),
        cmocka_unit_test(the_others_are_what_is_left_to_this_thread),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
