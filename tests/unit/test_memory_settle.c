/* Tests of memory_settle.h: when the judge considers a device's memory idle. Simulated reads take
 * the times that each test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/file.h"
#include "memory_settle.h"

static struct {
    double times[64]; /* seconds of the reads to come; the last entry also serves all later reads */
    int count, reads;
} memory;

static double read_next(void *context)
{
    (void)context;
    int at = memory.reads < memory.count ? memory.reads : memory.count - 1;
    memory.reads++;
    return memory.times[at];
}

static kf_memory_settle settle_with(double rule)
{
    memory.reads = 0;
    return (kf_memory_settle){.read = read_next, .rule = rule};
}

/* Returns how long kf_memory_settle() waits, in seconds. */
static double waits(kf_memory_settle *quiet, double most)
{
    double began = kf_now();
    kf_memory_settle_await(quiet, most);
    return kf_now() - began;
}

static void one_usual_read_is_enough(void **state)
{
    (void)state;
    static const double usual[] = {0.975, 1, 1.03};
    for (int i = 0; i < 3; i++) {
        kf_memory_settle quiet = settle_with(1);
        memory.times[0] = usual[i];
        memory.count = 1;
        kf_memory_settle_await(&quiet, 10);
        assert_int_equal(memory.reads, 1);
        assert_true(quiet.rule == 1);
    }
    kf_memory_settle quiet = settle_with(1);
    memory.times[0] = 1.5; /* it writes back what was in the cache */
    memory.times[1] = 1.01;
    memory.count = 2;
    kf_memory_settle_await(&quiet, 10);
    assert_int_equal(memory.reads, 2);
}

static void what_is_slow_is_waited_for(void **state)
{
    (void)state;
    kf_memory_settle quiet = settle_with(1);
    for (int i = 0; i < 30; i++) memory.times[i] = 1.11;
    memory.times[30] = 1;
    memory.count = 31;
    double waited = waits(&quiet, 10);
    assert_int_equal(memory.reads, 31); /* ten looks of three, and one read */
    assert_true(waited >= 0.01 && waited < 5 && quiet.rule == 1);
    memory.times[0] = 1.05; /* chance, in some of them */
    memory.count = 1;
    quiet = settle_with(1);
    kf_memory_settle_await(&quiet, 10);
    assert_int_equal(memory.reads, 3);
    assert_true(quiet.rule == 1);
}

/* The device's clocks have changed, or the rule was learned while the driver cleared memory. */
static void another_rule_is_taken_on(void **state)
{
    (void)state;
    static const struct {
        double time, most, rule;
    } rows[] = {{1.2, 0.02, 1.2}, {0.9, 10, 0.9}, {0, 10, 1}};
    for (int i = 0; i < 3; i++) {
        kf_memory_settle quiet = settle_with(1);
        memory.times[0] = rows[i].time;
        memory.count = 1;
        double waited = waits(&quiet, rows[i].most);
        assert_true(quiet.rule == rows[i].rule);
        assert_true(rows[i].time > 1 ? waited >= rows[i].most : waited < 5);
        memory.reads = 0;
        kf_memory_settle_await(&quiet, 10); /* at once, from then on */
        assert_int_equal(memory.reads, 1);
    }
}

static void the_first_reads_make_it(void **state)
{
    (void)state;
    kf_memory_settle quiet = settle_with(0);
    static const double times[] = {9, 5, 3, 1.02, 1, 1.01};
    for (int i = 0; i < 6; i++) memory.times[i] = times[i];
    memory.count = 6;
    kf_memory_settle_learn(&quiet);
    assert_int_equal(memory.reads, 6);
    assert_true(quiet.rule == 1.01);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_usual_read_is_enough),
        cmocka_unit_test(what_is_slow_is_waited_for),
        cmocka_unit_test(another_rule_is_taken_on),
        cmocka_unit_test(the_first_reads_make_it),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
