/* Tests of the figures that the pool keeps of a baseline measured alone. unit.judge and tests/gpu
 * test the runners themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "runner_pool.h"
#include "kforge/file.h"

static kf_known known_of(const char *task, int workload, double age)
{
    kf_known known = {.workload = workload,
                      .at = kf_now() - age,
                      .seconds = 3,
                      .sets = 20,
                      .calls = 17,
                      .call = 1e-4};
    snprintf(known.task, sizeof known.task, "%s", task);
    return known;
}

static void what_was_learned_is_recalled(void **state)
{
    (void)state;
    kf_device device = {.slow_start = true};
    kf_auto(kf_runner_pool) pool = kf_runner_pool_new(&device);
    assert_null(kf_runner_pool_recall(pool, "a", 0, 3));
    kf_known known = known_of("a", 0, 0);
    kf_runner_pool_learn(pool, &known);
    known = known_of("a", 1, 0);
    known.calls = 5;
    kf_runner_pool_learn(pool, &known);
    assert_int_equal(kf_runner_pool_recall(pool, "a", 0, 3)->calls, 17);
    assert_int_equal(kf_runner_pool_recall(pool, "a", 1, 3)->calls, 5);
    assert_null(kf_runner_pool_recall(pool, "b", 0, 3));
    assert_non_null(kf_runner_pool_recall(pool, "a", 0, 3.5)); /* about as many seconds */
    assert_null(kf_runner_pool_recall(pool, "a", 0, 30));
    assert_null(kf_runner_pool_recall(pool, "a", 0, 1));

    known.calls = 6; /* in place of the first */
    kf_runner_pool_learn(pool, &known);
    assert_int_equal(kf_runner_pool_recall(pool, "a", 1, 3)->calls, 6);
    kf_runner_pool_unlearn(pool, "a", 1);
    assert_null(kf_runner_pool_recall(pool, "a", 1, 3));
    assert_non_null(kf_runner_pool_recall(pool, "a", 0, 3));
}

static void it_is_not_kept_for_long(void **state)
{
    (void)state;
    kf_device device = {.slow_start = true};
    kf_auto(kf_runner_pool) pool = kf_runner_pool_new(&device);
    kf_known known = known_of("a", 0, 60);
    kf_runner_pool_learn(pool, &known);
    assert_null(kf_runner_pool_recall(pool, "a", 0, 3));
    known = known_of("a", 0, 1);
    kf_runner_pool_learn(pool, &known);
    assert_non_null(kf_runner_pool_recall(pool, "a", 0, 3));
    /* as after anything unclean, and before something is verified in fresh processes */
    kf_runner_pool_drop_trusted(pool);
    assert_null(kf_runner_pool_recall(pool, "a", 0, 3));
}

static void the_oldest_makes_room(void **state)
{
    (void)state;
    kf_device device = {.slow_start = true};
    kf_auto(kf_runner_pool) pool = kf_runner_pool_new(&device);
    for (int i = 0; i < 40; i++) {
        kf_known known = known_of("a", i, 0);
        kf_runner_pool_learn(pool, &known);
    }
    assert_null(kf_runner_pool_recall(pool, "a", 0, 3));
    for (int i = 8; i < 40; i++) assert_non_null(kf_runner_pool_recall(pool, "a", i, 3));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_learned_is_recalled),
        cmocka_unit_test(it_is_not_kept_for_long),
        cmocka_unit_test(the_oldest_makes_room),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
